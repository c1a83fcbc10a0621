"""Actions on distilled tiers. The system rewrites tiers on schedule; people correct them and decide on pending ones (R174)."""

from collections.abc import Mapping, Sequence
from typing import Any

from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.governed_write import governed, governed_remove
from apps.governance.models import Taint
from apps.governance.policy.policy_table import Act
from apps.memory.models import DISTILLER, MemoryTier

Facts = Sequence[Mapping[str, Any]]


def store_tier(
    row: MemoryTier,
    *,
    actor: Actor,
    body: str,
    facts: Facts,
    is_held: bool,
    read_at: int | None = None,
    evidence: Mapping[str, Any] | None = None,
) -> MemoryTier:
    """Store a distilled text as a tier. If `is_held`, prompts do not include it until a person approves it."""
    with acting_as(actor):
        with governed(Act.TIER_DISTIL, row, actor=actor, read_at=read_at, evidence=evidence) as tier:
            tier.body, tier.facts = body, list(facts)
            tier.updated_by, tier.taint = DISTILLER, Taint.AGENT
        if is_held and row.status == MemoryTier.Status.ACTIVE:
            # Create and hold the row in one commit, because the database allows a new row to have only the initial state.
            with governed(Act.TIER_DISTIL, row, actor=actor) as tier:
                tier.hold()
    return row


def amend_tier(
    row: MemoryTier, *, actor: Actor, body: str, facts: Facts, read_at: int | None = None, reason: str = ""
) -> MemoryTier:
    """Correct a tier by hand. The next distillation starts from this text and keeps lines that are marked as permanent."""
    with governed(Act.TIER_AMEND, row, actor=actor, read_at=read_at, reason=reason) as tier:
        if body != tier.body:
            tier.body, tier.facts = body, list(facts)
            _set_authorship(tier, actor)
    return row


def approve_tier(row: MemoryTier, *, actor: Actor, read_at: int | None = None, reason: str = "") -> MemoryTier:
    """Approve the current text of a tier. From the next session on, prompts for every customer render it as prose (Z-22)."""
    with governed(Act.TIER_APPROVE, row, actor=actor, read_at=read_at, reason=reason) as tier:
        if tier.status == MemoryTier.Status.PENDING:
            tier.let_stand()
        _set_authorship(tier, actor)
    return row


def clear_tier(row: MemoryTier, *, actor: Actor, read_at: int | None = None, reason: str = "") -> None:
    """Delete a pending or active tier; the next run creates it again. Its text stays in the change records."""
    governed_remove(Act.TIER_CLEAR, row, actor=actor, read_at=read_at, reason=reason)


def _set_authorship(tier: MemoryTier, actor: Actor) -> None:
    tier.updated_by, tier.taint = actor.label, Taint.OPERATOR
