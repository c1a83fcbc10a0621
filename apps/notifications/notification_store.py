"""The only writer of notification state: a person's preferences, the lease of the sending worker, and the outcome of e-mails.

There is no change record: preferences change nothing that agents or customers see.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.db.models import F, Func, QuerySet, Value
from django.db.models.functions import Now
from django.utils import timezone

from apps.governance.actors import Actor, Role
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import MissingActor, NotPermitted
from apps.notifications.models import EmailNotification, NotificationPreferences

# Longer than an attempt can take, including the timeouts of the mail server and the record of the outcome.
LEASE_SECONDS: Final = 180
MEMBER_ROLES: Final = frozenset({Role.OPERATOR, Role.ADMIN})


@dataclass(frozen=True, slots=True)
class PreferencesLease:
    """The preferences that this worker processes, as they were when it took the lease."""

    terms: NotificationPreferences
    fence: int


def own_preferences(actor: Actor) -> NotificationPreferences:
    """Return the acting person's preferences; unsaved defaults if they never set any."""
    user_id = _acting_user_id(actor)
    rows = NotificationPreferences.objects.filter(tenant_id=actor.tenant_id, user_id=user_id)
    return rows.first() or NotificationPreferences(tenant_id=actor.tenant_id, user_id=user_id)


def set_preferences(*, actor: Actor, values: Mapping[str, object]) -> None:
    """Save the acting person's preferences, and make the next check due at once. A digest waits for its next hour."""
    if actor.role not in MEMBER_ROLES:
        raise NotPermitted(
            "Only members of the tenant get notifications. Platform staff can see pending items in the console."
        )
    with acting_as(actor):
        anew = {**values, "last_digest_at": Now(), "next_check_at": Now()}
        user_id = _acting_user_id(actor)
        rows = NotificationPreferences.objects.filter(tenant_id=actor.tenant_id, user_id=user_id)
        if not rows.update(**anew):
            NotificationPreferences.objects.create(tenant_id=actor.tenant_id, user_id=user_id, **values)


def claim_preferences(terms_id: int, *, actor: Actor) -> PreferencesLease | None:
    """Lease a person's preferences for one check; None if another worker has them, or the next check is not due."""
    lease = Now() + Func(Value(LEASE_SECONDS), template="make_interval(secs => %(expressions)s)")
    with acting_as(actor):
        due = NotificationPreferences.objects.filter(
            pk=terms_id, tenant_id=actor.tenant_id, lease_until__lte=Now(), next_check_at__lte=Now()
        )
        if not due.update(lease_until=lease, fence=F("fence") + 1):
            return None
        terms = NotificationPreferences.objects.get(pk=terms_id)
    return PreferencesLease(terms, terms.fence)


def waiting_notification(held: PreferencesLease) -> EmailNotification | None:
    """Return the unsent message of an earlier attempt, if there is one."""
    return EmailNotification.objects.filter(
        tenant_id=held.terms.tenant_id, preferences=held.terms, status=EmailNotification.Status.WAITING
    ).first()


def begin_notification(
    held: PreferencesLease,
    notice: EmailNotification | None,
    notified_ids: Mapping[str, Sequence[int]],
    *,
    is_digest: bool,
    actor: Actor,
) -> EmailNotification:
    """Store a message and its notified ids, before the message is sent."""
    with acting_as(actor):
        _leased_rows(held).update(notified_ids=dict(notified_ids))
        if notice is None:
            return EmailNotification.objects.create(
                tenant_id=actor.tenant_id, preferences=held.terms, is_digest=is_digest
            )
    return notice


def mark_skipped(notice: EmailNotification, *, actor: Actor) -> None:
    """Record that nothing was left to notify."""
    with acting_as(actor):
        EmailNotification.objects.filter(pk=notice.pk, status=EmailNotification.Status.WAITING).update(
            status=EmailNotification.Status.SKIPPED
        )


def record_attempt(
    held: PreferencesLease,
    notice: EmailNotification,
    failure: str,
    *,
    is_last: bool,
    next_check_at: datetime,
    actor: Actor,
) -> None:
    """Record the outcome of an attempt and release the lease. A worker that lost its lease records nothing."""
    status = (
        EmailNotification.Status.SENT
        if not failure
        else EmailNotification.Status.DEAD
        if is_last
        else EmailNotification.Status.WAITING
    )
    sent_at = timezone.now() if status == EmailNotification.Status.SENT else None
    with acting_as(actor):
        if release_preferences(
            held, next_check_at, actor=actor, is_digest=notice.is_digest and status != EmailNotification.Status.WAITING
        ):
            row = EmailNotification.objects.filter(pk=notice.pk, status=EmailNotification.Status.WAITING)
            row.update(status=status, attempts=F("attempts") + 1, failure=failure, sent_at=sent_at)


def release_preferences(
    held: PreferencesLease,
    next_check_at: datetime,
    *,
    actor: Actor,
    notified: Mapping[str, Sequence[int]] | None = None,
    is_digest: bool = False,
) -> bool:
    """Release the lease until the next check, unless the person changed the preferences or another worker took them.

    `notified` drops the ids that were settled; `is_digest` records that the hour of the digest was processed.
    """
    noted: dict[str, object] = {"lease_until": Now()}
    if notified is not None:
        noted["notified_ids"] = dict(notified)
    if is_digest:
        noted["last_digest_at"] = Now()
    with acting_as(actor):
        unchanged = _leased_rows(held).filter(next_check_at=held.terms.next_check_at)
        if unchanged.update(next_check_at=next_check_at, **noted):
            return True
        return bool(_leased_rows(held).update(**noted))


def _leased_rows(held: PreferencesLease) -> QuerySet[NotificationPreferences]:
    return NotificationPreferences.objects.filter(pk=held.terms.pk, tenant_id=held.terms.tenant_id, fence=held.fence)


def _acting_user_id(actor: Actor) -> int:
    if actor.user_id is None:
        raise MissingActor("Only people get notifications.")
    return actor.user_id
