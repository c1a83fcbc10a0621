"""What a yes to a proposal would reach, in the words of a reviewer."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from apps.console.usage import dollars
from apps.governance.actors import Actor
from apps.governance.models import Proposal
from apps.prompt.comparing import Difference
from apps.prompt.values import Slot
from apps.review.sheet import Sheet
from apps.runtime.foreseeing import Would, foreseen

SLOTS = {
    Slot.PERSONA: "persona",
    Slot.CONTRACT: "contract and rules",
    Slot.SKILLS: "skills",
    Slot.MEMORY: "memory",
    Slot.PROFILE: "the customer's profile",
}


def reach_panel(sheet: Sheet, actor: Actor, now: datetime) -> dict[str, Any]:
    """Nothing of what is decided, and where nothing can be told: there is nothing to change, or words have yet to be found."""
    if sheet.target is None or sheet.after is None or sheet.proposal.state != Proposal.State.OPEN:
        return {}
    signed, goes = not sheet.applier.appends, sheet.applier.retires
    reach = foreseen(Would(sheet.target, sheet.after, signed, goes), actor=actor, now=now)
    cost = reach.cost
    return {
        "reach": reach,
        "slots_changed": list(slots_changed(reach.prompt)) if reach.prompt else [],
        "reach_cost": (dollars(cost.once), signed_dollars(cost.per_thousand)) if cost else None,
    }


def slots_changed(prompt: Difference) -> Iterator[str]:
    """Each slot that differs, and by how many bytes."""
    for slot in prompt.slots:
        name = SLOTS[slot.slot]
        if not slot.before:
            yield f"{name}: new, {slot.after:,} bytes"
        elif not slot.after:
            yield f"{name}: gone, {slot.before:,} bytes"
        else:
            yield f"{name}: {slot.after - slot.before:+,} bytes, from {slot.before:,} to {slot.after:,}"


def signed_dollars(micro_usd: int) -> str:
    """With its sign: more, or less."""
    return f"{'-' if micro_usd < 0 else '+'}{dollars(abs(micro_usd))}"
