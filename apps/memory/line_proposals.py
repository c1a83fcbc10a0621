"""Lines that several conversations of a day show, brought before a person: none of them is remembered by itself (R119, Z-19)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting
from apps.governance.models import Proposal, Taint
from apps.memory.actions import create_memory
from apps.memory.models import AgentMemory
from apps.memory.write_holds import Share, hold_back, waiting_and_refused
from apps.prompt.memory_lines.line_diff import bare, known
from apps.prompt.memory_lines.write_holds import HeldLine
from apps.prompt.text_reuse.derived_lines import Whose

# A person who has not read so many lines reads no more of them.
LINES_WAITING: Final = 30
# Behind a list, a line without it would be read as the end of the last item.
_ITEM: Final = "- "


@dataclass(frozen=True, slots=True)
class Brought:
    """The proposal that brings lines before a person, if there is one, and what became of each line, in a sentence."""

    proposal_id: int | None
    said: tuple[str, ...]
    is_known: bool = False


def bring_lines(agent_id: int, lines: Sequence[str], *, actor: Actor, evidence: Mapping[str, Any]) -> Brought:
    """Propose what is not remembered, does not wait and was not turned down; taken as a customer's words, whoever put them so."""
    with acting(actor):
        memory = AgentMemory.objects.visible_to(actor).filter(agent_id=agent_id).first()
        memory = memory or create_memory(agent_id, actor=actor, body="")
        waiting, refused = waiting_and_refused(memory, Proposal.Kind.MEMORY_LINES, actor)
        waits = _items(waiting.content.get("lines", []) if waiting else ())
        stands, refused = _items(known(memory.body)), _items(refused)
        place = LINES_WAITING - len(waits)
        new: list[str] = []
        said: list[str] = []
        for line in lines:
            if because := _because(line, stands, waits | set(new), refused, is_full=len(new) >= place):
                said.append(f"“{line}” {because}")
            else:
                new.append(line)
        if not new:
            return Brought(None, tuple(said), is_known=any(line in stands | waits for line in lines))
        mark = _ITEM if any(line.startswith(_ITEM) for line in known(memory.body)) else ""
        held = tuple(HeldLine(f"{mark}{line}", Whose.CUSTOMER) for line in new)
        proposal = hold_back(memory, Share(memory.body, Taint.AGENT, held), actor=actor, evidence=evidence)
    said.append(
        "1 line of memory waits for a person." if len(new) == 1 else f"{len(new)} lines of memory wait for a person."
    )
    return Brought(proposal and proposal.pk, tuple(said))


def _items(lines: Iterable[str]) -> frozenset[str]:
    """Lines by what they say, whether they stand in a list or not."""
    return frozenset(bare(line).removeprefix(_ITEM) for line in lines)


def _because(
    line: str, stands: frozenset[str], waits: frozenset[str] | set[str], refused: frozenset[str], *, is_full: bool
) -> str:
    """Why a line is not brought; empty where it is."""
    if line in stands:
        return "is remembered already."
    if line in waits:
        return "waits for a person already."
    if line in refused:
        return "was turned down by a person before."
    return f"would be one line too many: {LINES_WAITING} wait for a person already." if is_full else ""
