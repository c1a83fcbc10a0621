"""What a yes to a proposal would reach, in the words of a reviewer."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from apps.console.framework.token_usage import dollars
from apps.governance.actors import Actor
from apps.governance.models import Proposal
from apps.prompt.instruction_texts import SLOT_TITLES
from apps.prompt.prompt_diff import PromptSizeDiff
from apps.review.review_sheet import ProposalSheet
from apps.runtime.explain.impact import impact_of, reach_of_row


def impact_panel(sheet: ProposalSheet, actor: Actor, now: datetime) -> dict[str, Any]:
    """Nothing where nothing can be told. Free text says whom it reaches before anybody knows in which words."""
    if sheet.would is None:
        if sheet.target is None or not sheet.needs_edited_content or sheet.proposal.state != Proposal.State.OPEN:
            return {}
        return {"reach": reach_of_row(sheet.target, actor=actor, now=now), "awaits_words": True}
    reach = impact_of(sheet.would, actor=actor, now=now)
    cost = reach.cost
    return {
        "reach": reach,
        "can_be_tried": sheet.proposal.kind != Proposal.Kind.PROFILE_CHANGE,
        "slots_changed": list(slots_changed(reach.prompt)) if reach.prompt else [],
        "reach_cost": (dollars(cost.once), signed_dollars(cost.per_thousand)) if cost else None,
    }


def slots_changed(prompt: PromptSizeDiff) -> Iterator[str]:
    """Each slot that differs, and by how many bytes."""
    for slot in prompt.slots:
        name = SLOT_TITLES[slot.slot]
        if not slot.before:
            yield f"{name}: new, {slot.after:,} bytes"
        elif not slot.after:
            yield f"{name}: gone, {slot.before:,} bytes"
        else:
            yield f"{name}: {slot.after - slot.before:+,} bytes, from {slot.before:,} to {slot.after:,}"


def signed_dollars(micro_usd: int) -> str:
    """With its sign: more, or less."""
    return f"{'-' if micro_usd < 0 else '+'}{dollars(abs(micro_usd))}"
