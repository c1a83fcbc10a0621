"""The only writer of reflections: the lease on an agent's day, the retries, and the outcome, written once."""

from dataclasses import dataclass
from datetime import date
from random import random
from typing import Final

from django.db import connection

from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.database.sql_files import load_query
from apps.learning.model_spend import usage_columns
from apps.learning.reflection.models import Reflection
from apps.learning.retry_delay import retry_delay_seconds
from apps.llm.model_backend import BackendError, ModelReply

# Longer than the one model call made under the lease, including the call's deadline.
LEASE_SECONDS: Final = 180
WAITING: Final = Reflection.Verdict.WAITING

_CLAIM_DAY_SQL: Final = load_query("apps/learning/reflection/queries/claim_day.sql")
_POSTPONE_DAY_SQL: Final = """
UPDATE learning_reflection SET lease_until = statement_timestamp(), failures = %(failures)s,
       next_attempt_at = statement_timestamp() + %(wait)s * interval '1 second'
 WHERE tenant_id = app_tenant() AND id = %(row)s AND verdict = 'waiting'
"""


@dataclass(frozen=True, slots=True)
class DayLease:
    """The lease on a day, and the number of failures so far."""

    row_id: int
    failures: int


@dataclass(frozen=True, slots=True)
class DayOutcome:
    """The outcome of a day, and the model's answer if there was a call."""

    verdict: Reflection.Verdict
    reason: str
    conversation_ids: tuple[int, ...] = ()
    reply: ModelReply | None = None
    skill_ids: tuple[int, ...] = ()
    proposal_ids: tuple[int, ...] = ()


class DayAlreadySettled(Exception):
    """Another worker has settled this day meanwhile."""


def claim_day(agent_id: int, day: date, *, actor: Actor) -> DayLease | None:
    """Lease a day; None if the day is settled, another worker holds the lease, or the next attempt is not due."""
    with acting_as(actor), connection.cursor() as cursor:
        cursor.execute(_CLAIM_DAY_SQL, {"agent": agent_id, "day": day, "lease": LEASE_SECONDS})
        row = cursor.fetchone()
    return DayLease(int(row[0]), int(row[1])) if row else None


def postpone_day(held: DayLease, error: BackendError | None, *, actor: Actor) -> None:
    """Release a day until the next attempt: with a growing delay after a failure, otherwise at once."""
    failures = held.failures + (error is not None)
    wait = retry_delay_seconds(failures, error.retry_after_seconds, random()) if error else 0.0  # noqa: S311  # spreads
    with acting_as(actor), connection.cursor() as cursor:
        cursor.execute(_POSTPONE_DAY_SQL, {"row": held.row_id, "failures": failures, "wait": wait})


def settle_day(held: DayLease, outcome: DayOutcome, *, actor: Actor) -> Reflection:
    """Write the outcome of a day. Raises DayAlreadySettled if another worker has; the caller must then store nothing."""
    with acting_as(actor):
        settled = Reflection.objects.filter(pk=held.row_id, verdict=WAITING).update(
            verdict=outcome.verdict,
            reason=outcome.reason,
            conversation_ids=list(outcome.conversation_ids),
            skill_ids=list(outcome.skill_ids),
            proposal_ids=list(outcome.proposal_ids),
            **usage_columns(outcome.reply, actor=actor),
        )
        if not settled:
            raise DayAlreadySettled
        return Reflection.objects.get(pk=held.row_id)
