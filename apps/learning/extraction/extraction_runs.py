"""Extraction runs: the lease of the worker that processes a resolved conversation, the retry delay, and the verdict.

The sweep may pick the same conversation twice, and a worker may die during a run. Therefore one worker at a time leases the
conversation, by the database's clock, until it releases the lease or the lease expires.

This module is the only writer of verdicts: one row per conversation. A second worker reads the verdict of the first.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from random import random
from typing import Final

from django.db import IntegrityError, connection

from apps.conversations.models import Conversation
from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.learning.extraction.models import Extraction
from apps.learning.model_spend import usage_columns
from apps.learning.retry_delay import retry_delay_seconds
from apps.llm.model_backend import BackendError, ModelReply
from apps.skills.models import Skill

# Longer than the one model call made under the lease, including the call's deadline.
LEASE_SECONDS: Final = 180

_CLAIM_EXTRACTION_SQL: Final = """
INSERT INTO learning_extractionclaim AS held (tenant_id, conversation_id, lease_until, next_attempt_at, failures, failure_code)
VALUES (app_tenant(), %(conversation)s, statement_timestamp() + %(lease)s * interval '1 second', statement_timestamp(), 0, '')
ON CONFLICT (tenant_id, conversation_id) DO UPDATE SET lease_until = excluded.lease_until
 WHERE held.lease_until <= statement_timestamp() AND (%(at_once)s OR held.next_attempt_at <= statement_timestamp())
RETURNING failures
"""
_RELEASE_EXTRACTION_SQL: Final = """
UPDATE learning_extractionclaim SET lease_until = statement_timestamp(),
       next_attempt_at = statement_timestamp() + %(wait)s * interval '1 second', failures = %(failures)s,
       failure_code = %(failure_code)s
 WHERE tenant_id = app_tenant() AND conversation_id = %(conversation)s
"""


def claim_extraction(conversation: Conversation, *, actor: Actor, at_once: bool) -> int | None:
    """Lease a conversation. Return the number of failures so far, or None if the lease is not available.

    With `at_once` (a person's command), the retry delay is ignored, but not another worker's lease.
    """
    given = {"conversation": conversation.pk, "lease": LEASE_SECONDS, "at_once": at_once}
    with acting_as(actor), connection.cursor() as cursor:
        cursor.execute(_CLAIM_EXTRACTION_SQL, given)
        row = cursor.fetchone()
    return int(row[0]) if row else None


def postpone_extraction(conversation: Conversation, failures: int, error: BackendError, *, actor: Actor) -> None:
    """Release a conversation after a failed model call, until the next attempt is due."""
    wait = retry_delay_seconds(failures, error.retry_after_seconds, random())  # noqa: S311  # spreads, hides nothing
    _release_claim(conversation, wait, failures, error.code, actor)


def release_extraction(conversation: Conversation, failures: int, *, actor: Actor) -> None:
    """Release a conversation without a verdict."""
    _release_claim(conversation, 0.0, failures, "", actor)


def _release_claim(conversation: Conversation, wait: float, failures: int, failure_code: str, actor: Actor) -> None:
    given: dict[str, int | float | str] = {
        "conversation": conversation.pk,
        "wait": wait,
        "failures": failures,
        "failure_code": failure_code,
    }
    with acting_as(actor), connection.cursor() as cursor:
        cursor.execute(_RELEASE_EXTRACTION_SQL, given)


@dataclass(frozen=True, slots=True)
class VerdictEntry:
    """A verdict before it is written, and the model's answer if there was a call."""

    verdict: Extraction.Verdict
    reason: str
    reply: ModelReply | None = None
    tool_names: tuple[str, ...] = ()
    masked_counts: Mapping[str, int] = field(default_factory=dict)


def write_or_read_verdict(conversation: Conversation, finding: VerdictEntry, *, actor: Actor) -> Extraction:
    """Write a verdict without a draft, or return the verdict that another worker has written meanwhile."""
    try:
        return write_verdict(conversation, finding, actor=actor, skill=None)
    except IntegrityError:
        return read_verdict(conversation, actor=actor)


def read_verdict(conversation: Conversation, *, actor: Actor) -> Extraction:
    """Return the stored verdict of a conversation."""
    with acting_as(actor):
        return Extraction.objects.get(conversation=conversation)


def write_verdict(
    conversation: Conversation, finding: VerdictEntry, *, actor: Actor, skill: Skill | None
) -> Extraction:
    """Write the verdict; raises IntegrityError if the conversation already has one."""
    with acting_as(actor):
        return Extraction.objects.create(
            tenant_id=actor.tenant_id,
            agent_id=conversation.agent_id,
            conversation=conversation,
            verdict=finding.verdict,
            reason=finding.reason,
            skill=skill,
            tool_names=list(finding.tool_names),
            masked_counts=dict(finding.masked_counts),
            **usage_columns(finding.reply, actor=actor),
        )
