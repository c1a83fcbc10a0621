"""Proposals of lines that several of a day's conversations support. No line is saved without a person's approval (R119, Z-19)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.models import Proposal, Taint
from apps.memory.actions import create_memory
from apps.memory.models import AgentMemory
from apps.memory.write_holds import MemoryReviewSplit, hold_for_review, waiting_and_refused
from apps.prompt.memory_lines.line_diff import distinct_lines, strip_line
from apps.prompt.memory_lines.write_holds import HeldLine
from apps.prompt.text_reuse.derived_lines import RepeatedSource

# The number of pending lines in one proposal beyond which people would stop reading.
LINES_WAITING: Final = 30
# Put in front of a new line if the memory has list items; without it, the line would continue the last item.
_BULLET: Final = "- "


@dataclass(frozen=True, slots=True)
class LineProposalResult:
    """The open proposal, if there is one, and a sentence about each line."""

    proposal_id: int | None
    said: tuple[str, ...]
    is_known: bool = False


def propose_new_lines(
    agent_id: int, lines: Sequence[str], *, actor: Actor, evidence: Mapping[str, Any]
) -> LineProposalResult:
    """Propose lines that are not saved, pending or rejected yet. Their source is the customer, whoever worded them."""
    with acting_as(actor):
        memory = AgentMemory.objects.visible_to(actor).filter(agent_id=agent_id).first()
        memory = memory or create_memory(agent_id, actor=actor, body="")
        waiting, refused = waiting_and_refused(memory, Proposal.Kind.MEMORY_LINES, actor)
        waits = _without_bullets(waiting.content.get("lines", []) if waiting else ())
        stands, refused = _without_bullets(distinct_lines(memory.body)), _without_bullets(refused)
        place = LINES_WAITING - len(waits)
        new: list[str] = []
        messages: list[str] = []
        for line in lines:
            if because := _refusal_reason(line, stands, waits | set(new), refused, is_full=len(new) >= place):
                messages.append(f"“{line}” {because}")
            else:
                new.append(line)
        if not new:
            return LineProposalResult(None, tuple(messages), is_known=any(line in stands | waits for line in lines))
        mark = _BULLET if any(line.startswith(_BULLET) for line in distinct_lines(memory.body)) else ""
        held = tuple(HeldLine(f"{mark}{line}", RepeatedSource.CUSTOMER) for line in new)
        proposal = hold_for_review(
            memory, MemoryReviewSplit(memory.body, Taint.AGENT, held), actor=actor, evidence=evidence
        )
    messages.append(
        "1 line of memory waits for a person." if len(new) == 1 else f"{len(new)} lines of memory wait for a person."
    )
    return LineProposalResult(proposal and proposal.pk, tuple(messages))


def _without_bullets(lines: Iterable[str]) -> frozenset[str]:
    """Return the lines without list bullets, for comparison."""
    return frozenset(strip_line(line).removeprefix(_BULLET) for line in lines)


def _refusal_reason(
    line: str, stands: frozenset[str], waits: frozenset[str] | set[str], refused: frozenset[str], *, is_full: bool
) -> str:
    """Return why a line is not proposed, or an empty text if it is."""
    if line in stands:
        return "is remembered already."
    if line in waits:
        return "waits for a person already."
    if line in refused:
        return "was turned down by a person before."
    return f"would be one line too many: {LINES_WAITING} wait for a person already." if is_full else ""
