"""Governed writes on contradictions: a scan records and clears them, people dismiss and reopen them. None edits a text."""

from datetime import datetime

from django.utils import timezone

from apps.governance.actors import Actor
from apps.governance.errors import refuse_blank
from apps.governance.governed_write import governed, governed_create
from apps.governance.models import Taint
from apps.governance.policy.policy_table import Act
from apps.learning.contradictions.models import Contradiction
from apps.learning.contradictions.rules import ContradictionPair


def record_contradiction(agent_id: int, *, actor: Actor, pair: ContradictionPair) -> Contradiction:
    """Record a new contradiction between two lines, for people to decide."""
    other = pair.other
    row = Contradiction(
        tenant_id=actor.tenant_id,
        agent_id=agent_id,
        kind=pair.kind,
        pair_sha256=pair.sha256,
        conflicting_words=pair.conflicting_words,
        first_type=pair.one.noun,
        first_id=pair.one.row_id,
        first_location=pair.one.where,
        first_text=pair.one.line,
        second_type=other.noun if other else "",
        second_id=other.row_id if other else None,
        second_location=other.where if other else "",
        second_text=other.line if other else "",
        # A memory line may quote a customer, so the pair counts as customer text whoever wrote the other line.
        taint=Taint.CUSTOMER,
    )
    return governed_create(Act.CONTRADICTION_FIND, row, actor=actor)


def mark_contradiction_recurred(contradiction: Contradiction, *, actor: Actor) -> Contradiction:
    """Reopen a contradiction that a scan found again, unless a person dismissed it for exactly these two lines."""
    with governed(Act.CONTRADICTION_RECUR, contradiction, actor=actor) as row:
        if row.decided_by:
            row.return_dismissed()
        else:
            row.return_open()
        row.last_seen_at = None
    return contradiction


def clear_contradiction(contradiction: Contradiction, *, actor: Actor, last_seen_at: datetime) -> Contradiction:
    """Clear a contradiction after one of its two lines was changed or removed."""
    with governed(Act.CONTRADICTION_CLEAR, contradiction, actor=actor) as row:
        row.clear()
        row.last_seen_at = last_seen_at
    return contradiction


def dismiss_contradiction(
    contradiction: Contradiction, *, actor: Actor, reason: str, read_at: int | None = None
) -> Contradiction:
    """Dismiss a contradiction with a reason: both lines may stay. It stays dismissed while both lines are unchanged."""
    with governed(Act.CONTRADICTION_DISMISS, contradiction, actor=actor, read_at=read_at, reason=reason) as row:
        refuse_blank(reason, "Say why both lines may stay.")
        row.dismiss()
        row.dismissal_reason = reason
        row.decided_by, row.decided_at = actor.label, timezone.now()
    return contradiction


def reopen_contradiction(
    contradiction: Contradiction, *, actor: Actor, read_at: int | None = None, reason: str = ""
) -> Contradiction:
    """Reopen a dismissed contradiction: one of its lines has to change after all."""
    with governed(Act.CONTRADICTION_REOPEN, contradiction, actor=actor, read_at=read_at, reason=reason) as row:
        row.reopen()
        row.dismissal_reason, row.decided_by, row.decided_at = "", "", None
    return contradiction
