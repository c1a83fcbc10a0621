"""Digest runs: the lease by which one worker digests an agent's lessons, and the journal row of each run.

The lease uses the database's clock. A failure delays the next attempt.
"""

from collections.abc import Sequence
from random import random
from typing import Final

from django.db import connection

from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.learning.digest.models import DigestRun
from apps.learning.lessons.models import LearningVersion
from apps.learning.model_spend import usage_columns
from apps.learning.retry_delay import retry_delay_seconds
from apps.llm.model_backend import BackendError, ModelReply


def write_digest_run(
    agent_id: int,
    *,
    actor: Actor,
    verdict: DigestRun.Verdict,
    reasons: Sequence[str],
    lesson_ids: Sequence[int],
    unknown_lesson_ids: Sequence[int],
    version: LearningVersion | None,
    reply: ModelReply | None,
) -> DigestRun:
    """Write the journal row of one digest."""
    with acting_as(actor):
        return DigestRun.objects.create(
            tenant_id=actor.tenant_id,
            agent_id=agent_id,
            verdict=verdict,
            reasons=list(reasons),
            lesson_ids=list(lesson_ids),
            unknown_lesson_ids=list(unknown_lesson_ids),
            learning_version=version,
            **usage_columns(reply, actor=actor),
        )


# Longer than the one model call made under the lease, including the call's deadline.
LEASE_SECONDS: Final = 240

_CLAIM_DIGEST_SQL: Final = """
INSERT INTO learning_digestclaim AS held (tenant_id, agent_id, lease_until, claimed_at, next_attempt_at, failures, failure_code)
VALUES (app_tenant(), %(agent)s, statement_timestamp() + %(lease)s * interval '1 second', statement_timestamp(),
        statement_timestamp(), 0, '')
ON CONFLICT (tenant_id, agent_id) DO UPDATE SET lease_until = excluded.lease_until, claimed_at = excluded.claimed_at
 WHERE greatest(held.lease_until, held.next_attempt_at) <= statement_timestamp()
RETURNING failures
"""
_RELEASE_DIGEST_SQL: Final = """
UPDATE learning_digestclaim SET lease_until = statement_timestamp(), failures = %(failures)s, failure_code = %(failure_code)s,
       next_attempt_at = statement_timestamp() + %(wait)s * interval '1 second'
 WHERE tenant_id = app_tenant() AND agent_id = %(agent)s
"""
_END_DIGEST_SQL: Final = """
UPDATE learning_digestclaim SET lease_until = statement_timestamp(), last_digest_at = claimed_at, failures = 0, failure_code = ''
 WHERE tenant_id = app_tenant() AND agent_id = %(agent)s
"""


def claim_digest(agent_id: int, *, actor: Actor) -> int | None:
    """Lease an agent's lessons for one digest. Return the number of failures so far, or None if the lease is not available."""
    with acting_as(actor), connection.cursor() as cursor:
        cursor.execute(_CLAIM_DIGEST_SQL, {"agent": agent_id, "lease": LEASE_SECONDS})
        row = cursor.fetchone()
    return int(row[0]) if row else None


def postpone_digest(agent_id: int, failures: int, error: BackendError, *, actor: Actor) -> None:
    """Release the lease after a failed call, until the next attempt is due."""
    wait = retry_delay_seconds(failures, error.retry_after_seconds, random())  # noqa: S311  # spreads, hides nothing
    _release_claim(agent_id, wait, failures, error.code, actor)


def release_digest(agent_id: int, failures: int, *, actor: Actor) -> None:
    """Release the lease without a digest."""
    _release_claim(agent_id, 0.0, failures, "", actor)


def end_digest(agent_id: int, *, actor: Actor) -> None:
    """Release the lease after a digest. Only lessons recorded after this moment cause another digest."""
    with acting_as(actor), connection.cursor() as cursor:
        cursor.execute(_END_DIGEST_SQL, {"agent": agent_id})


def _release_claim(agent_id: int, wait: float, failures: int, failure_code: str, actor: Actor) -> None:
    with acting_as(actor), connection.cursor() as cursor:
        cursor.execute(
            _RELEASE_DIGEST_SQL, {"agent": agent_id, "wait": wait, "failures": failures, "failure_code": failure_code}
        )
