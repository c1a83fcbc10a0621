"""Warnings about contradictions in memory lines, for the writer or reviewer. A warning never refuses a write.

Lines of agent memory are compared with the rest of the agent's knowledge and behavior. Skills are left out because they are many.
Lines of a customer profile are compared only with each other (R161), never with another customer's lines or with the agent's
knowledge: "wants refunds in cash" contradicts no policy.

Contradictions are found by words and plain grammar, without a model (`apps.text_analysis.contradictions.detection`).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Final

from django.utils import timezone

from apps.governance.actors import Actor, Role
from apps.governance.database.actor_transaction import acting
from apps.learning.contradictions.agent_texts import (
    distilled,
    own_tools,
    remembered,
    tools_of_others,
    written_by_people,
)
from apps.memory.line_ledger import Remembered
from apps.memory.models import CustomerProfile
from apps.prompt.builtin_tools import HOUSE, ROUTING
from apps.prompt.memory_lines.line_diff import bare, known, lines_of
from apps.prompt.memory_lines.line_edits import beyond
from apps.prompt.memory_lines.line_expiry import holding, is_expired
from apps.prompt.sanitizer.clean import clean
from apps.tenants.pii_flags import told_private
from apps.text_analysis.contradictions.detection import Finding, Part, Tools, Written, contradictions
from apps.text_analysis.relative_dates import told_by_today

SHOWN = 5
QUOTED = 120
NEW = "what is new"


@dataclass(frozen=True, slots=True)
class Clash:
    """A line that contradicts another one: what it says, where the other stands, and why. Without another it names a tool."""

    line: str
    other: str
    where: str
    kind: str

    @property
    def sentence(self) -> str:
        """For whoever wrote the line."""
        if not self.other:
            return f"“{self.line}” names {self.where}, a tool that the agent may not call."
        return f"“{self.line}” and {self.where}, “{self.other}”, do not fit together ({self.kind})."


def clashes(row: Remembered, lines: Iterable[str], *, actor: Actor) -> tuple[Clash, ...]:
    """What these lines of a text contradict: each other, the rest of it, persona, rules, memory, blocks and distilled tiers."""
    now = timezone.now()
    new = dict.fromkeys(bare(line) for line in lines if bare(line) and not is_expired(line, row.line_dates, now))
    if not new:
        return ()
    with acting(actor):
        standing = list(_standing(row.agent_id, actor, frozenset(new), now))
        tools = _tools(row.agent_id, actor)
    found = contradictions([Written(NEW, Part.MEMORY, "\n".join(new))], standing, tools=tools)
    return tuple(islice((clash for finding in found.findings for clash in _clash(finding)), SHOWN))


def _tools(agent_id: int, actor: Actor) -> Tools | None:
    """What the agent may call. Which of the house's own it is offered, the night knows.

    People are shown every tool that it may not call, the agent itself only what it says to use and may not: it learns of no tool
    by naming it.
    """
    if actor.role is not Role.AGENT and not actor.is_person:
        return None
    others = tools_of_others(agent_id, actor) if actor.is_person else own_tools()
    return Tools(others.allowed | ROUTING | frozenset(HOUSE), others.known)


def with_advice(said: str, row: Remembered, before: str, actor: Actor) -> str:
    """The same of what was just written, what of it reaches no prompt and what looks like somebody's, behind what was said."""
    new = [line for line in lines_of(row.body) if bare(line) not in known(before)]
    found = clashes(row, new, actor=actor)
    warning = " ".join(clash.sentence for clash in found)
    unread = beyond(holding(row.body, row.line_dates, timezone.now()))
    again = f"It is saved, but look again: {warning}" if found else ""
    private = told_private("\n".join(new), actor=actor)
    return "\n".join(filter(None, [said, *map(clean, (unread, again, told_by_today(new), private))]))


def _clash(finding: Finding) -> Iterable[Clash]:
    place, other = finding.place, finding.other
    if other is not None:
        yield Clash(place.text[:QUOTED], other.text[:QUOTED], other.record, finding.kind)
    elif place.record == NEW:
        yield Clash(place.text[:QUOTED], "", f"`{place.words}`", finding.kind)


def _standing(agent_id: int, actor: Actor, new: frozenset[str], now: datetime) -> Iterable[Written]:
    """What the agent goes by, without the lines of memory that are looked at."""
    for text in written_by_people(agent_id, actor):
        yield Written(text.where, text.part, text.text)
    for text in remembered(agent_id, actor, now):
        rest = "\n".join("" if bare(line) in new else line for line in lines_of(text.text))
        yield Written(text.where, text.part, rest)
    for text in distilled(agent_id, actor):
        yield Written(text.where, text.part, text.text)


NOTED: Final = "what else is noted"
TEXTS: Final = ("preferences", "notes")


def texts_of(profile: CustomerProfile | None) -> dict[str, str]:
    """What is noted and holds, by field."""
    noted, now = profile or CustomerProfile(), timezone.now()
    return {name: holding(getattr(noted, name), noted.line_dates, now) for name in TEXTS}


def clashes_within(profile: CustomerProfile) -> tuple[Clash, ...]:
    """Which of a customer's lines contradict each other."""
    return _clashes("\n".join(texts_of(profile).values()), "")


def with_advice_on_notes(said: str, profile: CustomerProfile, before: Mapping[str, str]) -> str:
    """What of the lines that are new, compared with what was noted `before`, does not fit; behind what was said."""
    were = {line for text in before.values() for line in known(text)}
    lines = [line for text in texts_of(profile).values() for line in lines_of(text) if bare(line)]
    new = [line for line in lines if bare(line) not in were]
    found = _clashes("\n".join(new), "\n".join(line for line in lines if bare(line) in were))
    again = f"It is saved, but look again: {' '.join(clash.sentence for clash in found)}" if found else ""
    return "\n".join(filter(None, [said, *map(clean, (again, told_by_today(new)))]))


def _clashes(new: str, rest: str) -> tuple[Clash, ...]:
    checked = contradictions([Written(NOTED, Part.MEMORY, new)], [Written(NOTED, Part.MEMORY, rest)])
    found = (
        Clash(finding.place.text[:QUOTED], finding.other.text[:QUOTED], finding.other.record, finding.kind)
        for finding in checked.findings
        if finding.other is not None
    )
    return tuple(islice(found, SHOWN))
