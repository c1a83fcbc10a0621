"""Warnings about contradictions in memory lines, for the writer or reviewer. A warning never refuses a write.

Lines of agent memory are compared with the rest of the agent's knowledge and behavior. Skills are left out because they are many.
Lines of a customer profile are compared only with each other (R161), never with another customer's lines or with the agent's
knowledge: "wants refunds in cash" contradicts no policy.

Contradictions are detected from words and simple grammar, without a model (`apps.text_analysis.contradictions.detection`).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Final

from django.utils import timezone

from apps.governance.actors import Actor, Role
from apps.governance.database.actor_transaction import acting_as
from apps.learning.contradictions.agent_texts import (
    acting_agent_tools,
    memory_texts,
    persona_and_rule_texts,
    server_tools_of_agent,
    tier_texts,
)
from apps.memory.line_ledger import RememberedText
from apps.memory.models import CustomerProfile
from apps.prompt.builtin_tools import BUILTIN_TOOL_NAMES, ROUTING_TOOLS
from apps.prompt.memory_lines.line_diff import distinct_lines, split_lines, strip_line
from apps.prompt.memory_lines.line_edits import cut_off_advice
from apps.prompt.memory_lines.line_expiry import drop_expired_lines, is_expired
from apps.prompt.sanitizer.clean import clean
from apps.tenants.pii_flags import pii_warning
from apps.text_analysis.contradictions.detection import (
    ContradictionFinding,
    NamedText,
    TextKind,
    ToolNames,
    detect_contradictions,
)
from apps.text_analysis.relative_dates import relative_date_warning

WARNINGS_SHOWN = 5
QUOTED_CHARACTERS = 120
NEW_LINES_LABEL = "what is new"


@dataclass(frozen=True, slots=True)
class MemoryContradiction:
    """A line that contradicts another line or a tool: its text, where the other line is, and the reason."""

    line: str
    other: str
    where: str
    kind: str

    @property
    def sentence(self) -> str:
        """Return a sentence that explains the contradiction to the writer of the line."""
        if not self.other:
            return f"“{self.line}” names {self.where}, a tool that the agent may not call."
        return f"“{self.line}” and {self.where}, “{self.other}”, do not fit together ({self.kind})."


def contradictions_of(row: RememberedText, lines: Iterable[str], *, actor: Actor) -> tuple[MemoryContradiction, ...]:
    """Return the contradictions of these lines with each other, the rest of the text, and the agent's other texts."""
    now = timezone.now()
    new = dict.fromkeys(
        strip_line(line) for line in lines if strip_line(line) and not is_expired(line, row.line_dates, now)
    )
    if not new:
        return ()
    with acting_as(actor):
        standing = list(_existing_texts(row.agent_id, actor, frozenset(new), now))
        tools = _callable_tools(row.agent_id, actor)
    found = detect_contradictions([NamedText(NEW_LINES_LABEL, TextKind.MEMORY, "\n".join(new))], standing, tools=tools)
    return tuple(
        islice((clash for finding in found.findings for clash in _memory_contradictions(finding)), WARNINGS_SHOWN)
    )


def _callable_tools(agent_id: int, actor: Actor) -> ToolNames | None:
    """Return the server tools that the agent may call; the nightly scan checks the built-in tools.

    People are warned about every tool that the agent may not call. The agent is warned only about tools that its line says to
    use, so that it cannot discover tools by naming them.
    """
    if actor.role is not Role.AGENT and not actor.is_person:
        return None
    others = server_tools_of_agent(agent_id, actor) if actor.is_person else acting_agent_tools()
    return ToolNames(others.allowed | ROUTING_TOOLS | frozenset(BUILTIN_TOOL_NAMES), others.known)


def add_memory_warnings(feedback: str, row: RememberedText, before: str, actor: Actor) -> str:
    """Add warnings about new lines to the feedback: contradictions, text over the prompt's limit, and likely personal data."""
    new = [line for line in split_lines(row.body) if strip_line(line) not in distinct_lines(before)]
    found = contradictions_of(row, new, actor=actor)
    warning = " ".join(clash.sentence for clash in found)
    unread = cut_off_advice(drop_expired_lines(row.body, row.line_dates, timezone.now()))
    again = f"It is saved, but look again: {warning}" if found else ""
    private = pii_warning("\n".join(new), actor=actor)
    return "\n".join(filter(None, [feedback, *map(clean, (unread, again, relative_date_warning(new), private))]))


def _memory_contradictions(finding: ContradictionFinding) -> Iterable[MemoryContradiction]:
    place, other = finding.place, finding.other
    if other is not None:
        yield MemoryContradiction(
            place.text[:QUOTED_CHARACTERS], other.text[:QUOTED_CHARACTERS], other.record, finding.kind
        )
    elif place.record == NEW_LINES_LABEL:
        yield MemoryContradiction(place.text[:QUOTED_CHARACTERS], "", f"`{place.words}`", finding.kind)


def _existing_texts(agent_id: int, actor: Actor, new: frozenset[str], now: datetime) -> Iterable[NamedText]:
    """Return the agent's knowledge and behavior, except the memory lines being checked."""
    for text in persona_and_rule_texts(agent_id, actor):
        yield NamedText(text.where, text.part, text.text)
    for text in memory_texts(agent_id, actor, now):
        rest = "\n".join("" if strip_line(line) in new else line for line in split_lines(text.text))
        yield NamedText(text.where, text.part, rest)
    for text in tier_texts(agent_id, actor):
        yield NamedText(text.where, text.part, text.text)


PROFILE_LABEL: Final = "what else is noted"
PROFILE_FIELDS: Final = ("preferences", "notes")


def profile_texts(profile: CustomerProfile | None) -> dict[str, str]:
    """Return the valid lines of a customer profile, by field."""
    noted, now = profile or CustomerProfile(), timezone.now()
    return {name: drop_expired_lines(getattr(noted, name), noted.line_dates, now) for name in PROFILE_FIELDS}


def profile_contradictions(profile: CustomerProfile) -> tuple[MemoryContradiction, ...]:
    """Return the contradictions between the lines of one customer profile."""
    return _compare_profile_lines("\n".join(profile_texts(profile).values()), "")


def add_profile_warnings(feedback: str, profile: CustomerProfile, before: Mapping[str, str]) -> str:
    """Add warnings to the feedback about new profile lines that contradict others; `before` is the profile before the write."""
    were = {line for text in before.values() for line in distinct_lines(text)}
    lines = [line for text in profile_texts(profile).values() for line in split_lines(text) if strip_line(line)]
    new = [line for line in lines if strip_line(line) not in were]
    found = _compare_profile_lines("\n".join(new), "\n".join(line for line in lines if strip_line(line) in were))
    again = f"It is saved, but look again: {' '.join(clash.sentence for clash in found)}" if found else ""
    return "\n".join(filter(None, [feedback, *map(clean, (again, relative_date_warning(new)))]))


def _compare_profile_lines(new: str, rest: str) -> tuple[MemoryContradiction, ...]:
    checked = detect_contradictions(
        [NamedText(PROFILE_LABEL, TextKind.MEMORY, new)], [NamedText(PROFILE_LABEL, TextKind.MEMORY, rest)]
    )
    found = (
        MemoryContradiction(
            finding.place.text[:QUOTED_CHARACTERS],
            finding.other.text[:QUOTED_CHARACTERS],
            finding.other.record,
            finding.kind,
        )
        for finding in checked.findings
        if finding.other is not None
    )
    return tuple(islice(found, WARNINGS_SHOWN))
