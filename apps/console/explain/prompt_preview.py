"""Preview of an agent's next session, read and assembled as that session will be."""

from collections.abc import Iterable

from django.http import HttpRequest
from django.utils import timezone

from apps.console.framework.forms import PREVIEW
from apps.governance.actors import Actor
from apps.governance.models import Governed
from apps.governance.proposals.approval_rules import ProposedOutcome
from apps.prompt.prompt_input import Slot
from apps.prompt.rendering.segments import Segment, SlotText
from apps.prompt.rendering.snapshot import render_snapshot
from apps.runtime.prompt_snapshot.prompt_input_builder import read_prompt_input
from apps.tenants.models import Agent


def slot_text(agent: Agent, slot: Slot, actor: Actor, would: ProposedOutcome | None = None) -> str:
    """Return the text of one of the slots 1-4, now or after a change; empty if the slot is left out."""
    return "".join(part.text for part in next_session(agent, actor, would) if part.slot is slot)


def typed_change(row: Governed, request: HttpRequest, names: Iterable[str]) -> ProposedOutcome | None:
    """Return the row with the typed fields as saving would change it; None unless the preview button was pressed."""
    if PREVIEW not in request.POST:
        return None
    asked = request.POST
    return ProposedOutcome(row, {name: asked[name].replace("\r\n", "\n") for name in names if name in asked})


def text_of_rows(agent: Agent, slot: Slot, noun: type[Governed], actor: Actor) -> str:
    """Return the part of one slot that comes from rows of one model, with its title and the product's words between them."""
    parts = [part for part in next_session(agent, actor) if part.slot is slot]
    segments = [segment for part in parts for segment in part.segments]
    mine = [at for at, segment in enumerate(segments) if _is_segment_of(segment, noun)]
    return "".join(segment.text for segment in segments[max(mine[0] - 1, 0) : mine[-1] + 1]) if mine else ""


def next_session(agent: Agent, actor: Actor, would: ProposedOutcome | None = None) -> tuple[SlotText, ...]:
    """Return the slots that all customers of an agent share, as the next session will carry them."""
    return render_snapshot(
        read_prompt_input(agent, "", actor=actor, system=actor, now=timezone.now(), would=would)
    ).parts


def _is_segment_of(segment: Segment, noun: type[Governed]) -> bool:
    return segment.source is not None and segment.source.record_type == noun._meta.label_lower
