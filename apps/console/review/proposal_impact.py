"""Impact of a proposal: the customers and sessions that an approval would reach, in words for reviewers."""

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
    """Return the impact, or nothing if it cannot be computed. For free text it names the reach before the words are known."""
    if sheet.would is None:
        if sheet.target is None or not sheet.needs_edited_content or not sheet.proposal.is_open:
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
    """Yield each slot that differs, with the number of bytes."""
    for slot in prompt.slots:
        name = SLOT_TITLES[slot.slot]
        if not slot.before:
            yield f"{name}: new, {slot.after:,} bytes"
        elif not slot.after:
            yield f"{name}: gone, {slot.before:,} bytes"
        else:
            yield f"{name}: {slot.after - slot.before:+,} bytes, from {slot.before:,} to {slot.after:,}"


def signed_dollars(micro_usd: int) -> str:
    """Format an amount with its sign: more, or less."""
    return f"{'-' if micro_usd < 0 else '+'}{dollars(abs(micro_usd))}"
