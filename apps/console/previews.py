"""What the next session of an agent will carry, read and assembled as that session will read and assemble it."""

from django.utils import timezone

from apps.governance.actors import Actor
from apps.governance.models import Governed
from apps.prompt.assembly import assemble
from apps.prompt.segments import Part, Segment
from apps.prompt.values import Slot
from apps.runtime.gather import gather
from apps.tenants.models import Agent


def slot_text(agent: Agent, slot: Slot, actor: Actor) -> str:
    """The text of one slot of slots 1-4; empty where the slot is left out."""
    return "".join(part.text for part in next_session(agent, actor) if part.slot is slot)


def text_of_rows(agent: Agent, slot: Slot, noun: type[Governed], actor: Actor) -> str:
    """What of one slot comes from rows of one noun, with the title above and the product's words between."""
    parts = [part for part in next_session(agent, actor) if part.slot is slot]
    segments = [segment for part in parts for segment in part.segments]
    mine = [at for at, segment in enumerate(segments) if _is_of(segment, noun)]
    return "".join(segment.text for segment in segments[max(mine[0] - 1, 0) : mine[-1] + 1]) if mine else ""


def next_session(agent: Agent, actor: Actor) -> tuple[Part, ...]:
    """The slots that all customers of an agent share."""
    return assemble(gather(agent, "", actor=actor, system=actor, now=timezone.now())).parts


def _is_of(segment: Segment, noun: type[Governed]) -> bool:
    return segment.source is not None and segment.source.record_type == noun._meta.label_lower
