"""Text forms of distilled memory: log lines of ended conversations, and tiers as editable text; pure."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from apps.learning.distillation.rewrite_vetting import FACT_CHARACTERS, MAX_FACTS, SourceLine, TierFact, fact_id

NAMES_SHOWN: Final = 6
# The form of names in settings and tool definitions, and of names chosen by people. Names in any other form are left out.
_SAFE_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}\Z")
_PERMANENT_MARK: Final = "!"
_LIST_MARK: Final = re.compile(r"-\s+")


@dataclass(frozen=True, slots=True)
class EndedConversation:
    """The facts of an ended conversation, without its messages."""

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


def session_log_line(ended: EndedConversation) -> str:
    """Return the session log line of an ended conversation (R169)."""
    became = ended.outcome if ended.status == "resolved" and ended.outcome != "unknown" else ended.status
    parts = [
        _format_count(ended.customer_messages, "message", "messages"),
        "came back" if ended.is_reopened else "",
        _format_names("skills", ended.skills),
        _format_names("tools", ended.tools),
        _format_names("handed over", ended.escalations),
        _format_count(ended.edited_drafts, "draft edited", "drafts edited"),
        _format_count(ended.discarded_drafts, "draft discarded", "drafts discarded"),
    ]
    return f"{_format_channel(ended.channel)}: {became}; " + "; ".join(each for each in parts if each)


def _format_count(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}" if count else ""


def _format_names(label: str, names: Iterable[str]) -> str:
    shown = [name for name in sorted(set(names)) if _SAFE_NAME.match(name)][:NAMES_SHOWN]
    return f"{label} {', '.join(shown)}" if shown else ""


def _format_channel(name: str) -> str:
    return name if _SAFE_NAME.match(name) else "elsewhere"


def source_lines_of(body: str) -> tuple[SourceLine, ...]:
    """Return the lines of a shorter tier that a longer tier may cite, each with its day."""
    found: list[SourceLine] = []
    day = ""
    for line in body.splitlines():
        if line.startswith("## "):
            day = line.removeprefix("## ").strip()
        elif mark := _LIST_MARK.match(line):
            text = f"{day}: {line[mark.end() :]}" if day else line[mark.end() :]
            found.append(SourceLine(f"l{len(found) + 1}", text))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class UnreadableTier:
    """A person's text that cannot be parsed as a tier, and the reason."""

    reason: str


def render_editable_facts(facts: Iterable[TierFact]) -> str:
    """Return a tier as editable text: `- !` marks a permanent fact."""
    return "\n".join(f"- {_PERMANENT_MARK + ' ' if each.is_permanent else ''}{each.text}" for each in facts)


def parse_edited_facts(text: str, before: Iterable[TierFact] = ()) -> tuple[TierFact, ...] | UnreadableTier:
    """Parse edited text as facts; a fact that existed before keeps its citations."""
    known = {each.fact_id: each for each in before}
    facts: dict[str, TierFact] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        fact = _parse_fact_line(line.strip())
        if not fact.text or len(fact.text) > FACT_CHARACTERS:
            return UnreadableTier(
                f"Line {number} has {len(fact.text)} characters; a fact has between 1 and {FACT_CHARACTERS}."
            )
        kept = known.get(fact.fact_id, fact)
        facts[fact.fact_id] = replace(fact, source_ids=kept.source_ids)
    if len(facts) > MAX_FACTS:
        return UnreadableTier(f"There are {len(facts)} facts; {MAX_FACTS} are allowed.")
    return tuple(facts.values())


def _parse_fact_line(line: str) -> TierFact:
    """Parse one line, with or without its hyphen."""
    mark = _LIST_MARK.match(line)
    content = line[mark.end() if mark else 0 :]
    is_permanent = content.startswith(_PERMANENT_MARK)
    text = " ".join(content.removeprefix(_PERMANENT_MARK).split())
    return TierFact(fact_id(text), text, (), is_permanent)
