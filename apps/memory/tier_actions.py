"""Acts on distilled tiers: the house rewrites them by the clock, people correct them and decide on what is held (R174)."""

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
    """Let a distilled text take a tier's place. Held, it is in no prompt until a person lets it stand."""
    with acting_as(actor):
        with governed(Act.TIER_DISTIL, row, actor=actor, read_at=read_at, evidence=evidence) as tier:
            tier.body, tier.facts = body, list(facts)
            tier.updated_by, tier.taint = DISTILLER, Taint.AGENT
        if is_held and row.status == MemoryTier.Status.ACTIVE:
            # Born standing and held in one commit: the database lets a row be born in one state alone.
            with governed(Act.TIER_DISTIL, row, actor=actor) as tier:
                tier.hold()
    return row


def amend_tier(
    row: MemoryTier, *, actor: Actor, body: str, facts: Facts, read_at: int | None = None, reason: str = ""
) -> MemoryTier:
    """Correct a tier by hand. The next rewrite starts from this text; what is marked permanent it leaves alone."""
    with governed(Act.TIER_AMEND, row, actor=actor, read_at=read_at, reason=reason) as tier:
        if body != tier.body:
            tier.body, tier.facts = body, list(facts)
            _set_authorship(tier, actor)
    return row


def approve_tier(row: MemoryTier, *, actor: Actor, read_at: int | None = None, reason: str = "") -> MemoryTier:
    """Vouch for what was distilled, as it stands. The next session of every customer carries it as prose (Z-22)."""
    with governed(Act.TIER_APPROVE, row, actor=actor, read_at=read_at, reason=reason) as tier:
        if tier.status == MemoryTier.Status.PENDING:
            tier.let_stand()
        _set_authorship(tier, actor)
    return row


def clear_tier(row: MemoryTier, *, actor: Actor, read_at: int | None = None, reason: str = "") -> None:
    """Take a tier away, held or not; the next run begins it anew. What it said stays in the change records."""
    governed_remove(Act.TIER_CLEAR, row, actor=actor, read_at=read_at, reason=reason)


def _set_authorship(tier: MemoryTier, actor: Actor) -> None:
    tier.updated_by, tier.taint = actor.label, Taint.OPERATOR
