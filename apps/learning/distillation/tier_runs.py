"""Tier runs: the clock and lease of each memory tier of an agent, and the journal row of each distillation run.

One worker at a time distils a tier, by the database's clock. `write_tier_run` is the only writer of runs; the journal is
append-only, one row for each run.
"""

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Final

from django.db import connection
from django.utils import timezone

from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.learning.distillation.models import TierRun
from apps.learning.distillation.rewrite_vetting import TierFact
from apps.learning.distillation.tier_schedule import TIER_CRON, Tier
from apps.learning.model_spend import usage_columns
from apps.llm.model_backend import ModelReply
from apps.schedules.rules import next_time
from apps.tenants.models import Agent, TenantSettings

# Longer than the one model call made under the lease, including the call's deadline.
LEASE_SECONDS: Final = 300

_CREATE_CLOCK_SQL: Final = """
INSERT INTO learning_tierclock (tenant_id, agent_id, tier, next_run_at, failures, requested_by)
VALUES (app_tenant(), %(agent)s, %(tier)s, %(next)s, 0, '') ON CONFLICT (tenant_id, agent_id, tier) DO NOTHING
"""
_CLAIM_TIER_SQL: Final = """
UPDATE learning_tierclock SET lease_until = statement_timestamp() + %(lease)s * interval '1 second'
 WHERE tenant_id = app_tenant() AND agent_id = %(agent)s AND tier = %(tier)s
   AND lease_until <= statement_timestamp() AND next_run_at <= statement_timestamp()
RETURNING failures, requested_by
"""
_REQUEST_RUN_SQL: Final = """
INSERT INTO learning_tierclock (tenant_id, agent_id, tier, next_run_at, failures, requested_by)
VALUES (app_tenant(), %(agent)s, %(tier)s, statement_timestamp(), 0, %(who)s)
ON CONFLICT (tenant_id, agent_id, tier) DO UPDATE SET next_run_at = statement_timestamp(), requested_by = %(who)s
"""
_UPDATE_CLOCK_SQL: Final = """
UPDATE learning_tierclock SET lease_until = statement_timestamp(), next_run_at = %(next)s, failures = %(failures)s,
       requested_by = %(who)s
 WHERE tenant_id = app_tenant() AND agent_id = %(agent)s AND tier = %(tier)s
"""


@dataclass(frozen=True, slots=True)
class DueTier:
    """A due tier that this worker has leased."""

    tier: Tier
    failures: int
    requested_by: str


def create_clocks(agent: Agent, *, actor: Actor) -> None:
    """Create the missing clocks of an agent's tiers; a new tier first runs at its next scheduled time, not at once."""
    with acting_as(actor), connection.cursor() as cursor:
        for tier in Tier:
            cursor.execute(_CREATE_CLOCK_SQL, {"agent": agent.pk, "tier": tier.value, "next": next_run(tier, actor)})


def claim_tier(agent_id: int, tier: Tier, *, actor: Actor) -> DueTier | None:
    """Lease a due tier for one run; None if it is not due, or another worker holds the lease."""
    with acting_as(actor), connection.cursor() as cursor:
        cursor.execute(_CLAIM_TIER_SQL, {"agent": agent_id, "tier": tier.value, "lease": LEASE_SECONDS})
        row = cursor.fetchone()
    return DueTier(tier, int(row[0]), str(row[1])) if row else None


def request_run(agent_id: int, tier: Tier, *, actor: Actor) -> None:
    """Request a distillation run as soon as a worker is free (R176)."""
    with connection.cursor() as cursor:
        cursor.execute(_REQUEST_RUN_SQL, {"agent": agent_id, "tier": tier.value, "who": actor.label})


def release_tier(agent_id: int, tier: Tier, *, actor: Actor) -> None:
    """Release a tier until its next scheduled time, in the transaction that stores the outcome."""
    _update_clock(agent_id, tier, next_run(tier, actor), 0, "")


def postpone_tier(agent_id: int, due: DueTier, until: datetime, *, actor: Actor) -> None:
    """Release a tier after a failed model call; its next attempt is at `until`."""
    with acting_as(actor):
        _update_clock(agent_id, due.tier, until, due.failures + 1, due.requested_by)


def next_run(tier: Tier, actor: Actor) -> datetime:
    """Return the tier's next scheduled time on the tenant's clock; several missed runs are made up for by a single run."""
    zone = TenantSettings.objects.visible_to(actor).values_list("timezone", flat=True).first() or "UTC"
    return next_time(TIER_CRON[tier], zone, timezone.now())


def _update_clock(agent_id: int, tier: Tier, until: datetime, failures: int, who: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            _UPDATE_CLOCK_SQL, {"agent": agent_id, "tier": tier.value, "next": until, "failures": failures, "who": who}
        )


@dataclass(frozen=True, slots=True)
class TierOutcome:
    """The outcome of a run: the text to store, or the reason for none."""

    verdict: TierRun.Verdict
    body: str = ""
    facts: tuple[TierFact, ...] = ()
    reasons: tuple[str, ...] = ()
    proposed_facts: tuple[TierFact, ...] = ()
    reply: ModelReply | None = None


def write_tier_run(agent: Agent, due: DueTier, outcome: TierOutcome, facts_before: int, *, actor: Actor) -> TierRun:
    """Write the journal row of a run, in the transaction that stores its text.

    A run without a new text leaves the facts of the tier as they were.
    """
    has_text = outcome.verdict in {TierRun.Verdict.STORED, TierRun.Verdict.PENDING}
    return TierRun.objects.create(
        tenant_id=actor.tenant_id,
        agent=agent,
        tier=due.tier.value,
        verdict=outcome.verdict,
        reasons=list(outcome.reasons),
        proposed_facts=[asdict(fact) for fact in outcome.proposed_facts],
        facts_before=facts_before,
        facts_after=len(outcome.facts) if has_text else facts_before,
        requested_by=due.requested_by,
        **usage_columns(outcome.reply, actor=actor),
    )
