"""One line for each conversation that ended, made of states, counts and names alone; and tiers as people read them; pure."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from apps.learning.distillation.rewrite_vetting import FACT_CHARACTERS, FACTS_AT_MOST, Fact, SourceLine, fact_id

NAMES_SHOWN: Final = 6
# What people, settings and definitions of tools call things; whatever is not written so is left out.
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}\Z")
_PERMANENT: Final = "!"
_LINE: Final = re.compile(r"-\s+")


@dataclass(frozen=True, slots=True)
class Ended:
    """What is known of a conversation besides its words."""

    channel: str
    status: str
    outcome: str
    is_reopened: bool
    customer_messages: int
    tools: tuple[str, ...] = ()
    skills: tuple[str, ...] = ()
    escalations: tuple[str, ...] = ()
    edited_drafts: int = 0
    discarded_drafts: int = 0


def line_of(ended: Ended) -> str:
    """The line of the session log (R169)."""
    became = ended.outcome if ended.status == "resolved" and ended.outcome != "unknown" else ended.status
    said = [
        _counted(ended.customer_messages, "message", "messages"),
        "came back" if ended.is_reopened else "",
        _named("skills", ended.skills),
        _named("tools", ended.tools),
        _named("handed over", ended.escalations),
        _counted(ended.edited_drafts, "draft edited", "drafts edited"),
        _counted(ended.discarded_drafts, "draft discarded", "drafts discarded"),
    ]
    return f"{_shown(ended.channel)}: {became}; " + "; ".join(each for each in said if each)


def _counted(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}" if count else ""


def _named(label: str, names: Iterable[str]) -> str:
    shown = [name for name in sorted(set(names)) if _NAME.match(name)][:NAMES_SHOWN]
    return f"{label} {', '.join(shown)}" if shown else ""


def _shown(name: str) -> str:
    return name if _NAME.match(name) else "elsewhere"


def lines_of(body: str) -> tuple[SourceLine, ...]:
    """What a longer tier may rest on: each line of a shorter one, with the day it stands under."""
    found: list[SourceLine] = []
    day = ""
    for line in body.splitlines():
        if line.startswith("## "):
            day = line.removeprefix("## ").strip()
        elif mark := _LINE.match(line):
            text = f"{day}: {line[mark.end() :]}" if day else line[mark.end() :]
            found.append(SourceLine(f"l{len(found) + 1}", text))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Why a text of people is no tier."""

    reason: str


def marked(facts: Iterable[Fact]) -> str:
    """A tier as people edit it: `- !` leads what stays for good."""
    return "\n".join(f"- {_PERMANENT + ' ' if each.is_permanent else ''}{each.text}" for each in facts)


def facts_of(text: str, before: Iterable[Fact] = ()) -> tuple[Fact, ...] | Unreadable:
    """What people wrote, as facts; one that stood there before keeps what it rests on."""
    known = {each.fact_id: each for each in before}
    facts: dict[str, Fact] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        fact = _fact(line.strip())
        if not fact.text or len(fact.text) > FACT_CHARACTERS:
            return Unreadable(
                f"Line {number} has {len(fact.text)} characters; a fact has between 1 and {FACT_CHARACTERS}."
            )
        kept = known.get(fact.fact_id, fact)
        facts[fact.fact_id] = replace(fact, source_ids=kept.source_ids)
    if len(facts) > FACTS_AT_MOST:
        return Unreadable(f"There are {len(facts)} facts; {FACTS_AT_MOST} are allowed.")
    return tuple(facts.values())


def _fact(line: str) -> Fact:
    """One line, with or without its hyphen."""
    mark = _LINE.match(line)
    said = line[mark.end() if mark else 0 :]
    is_permanent = said.startswith(_PERMANENT)
    text = " ".join(said.removeprefix(_PERMANENT).split())
    return Fact(fact_id(text), text, (), is_permanent)
