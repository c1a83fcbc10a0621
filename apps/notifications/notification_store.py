"""The one writer of what people are told: their own terms, who sends just now, and what became of a message.

No change record: how somebody wants to be told changes nothing that agents or customers meet.
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

# Longer than a mail server may keep one waiting, try and note included.
LEASE_SECONDS: Final = 180
MEMBER_ROLES: Final = frozenset({Role.OPERATOR, Role.ADMIN})


@dataclass(frozen=True, slots=True)
class PreferencesLease:
    """The terms that this worker looks at, as they stood when it took them."""

    terms: NotificationPreferences
    fence: int


def own_preferences(actor: Actor) -> NotificationPreferences:
    """What the person who acts wants to be told; not saved yet where they never said."""
    user_id = _acting_user_id(actor)
    rows = NotificationPreferences.objects.filter(tenant_id=actor.tenant_id, user_id=user_id)
    return rows.first() or NotificationPreferences(tenant_id=actor.tenant_id, user_id=user_id)


def set_preferences(*, actor: Actor, values: Mapping[str, object]) -> None:
    """Say what one wants to be told; what waits already and was not told is looked at at once, for a digest at its next hour."""
    if actor.role not in MEMBER_ROLES:
        raise NotPermitted(
            "Only members of the tenant are told what waits in it. Platform staff reads it in the console."
        )
    with acting_as(actor):
        anew = {**values, "last_digest_at": Now(), "next_check_at": Now()}
        user_id = _acting_user_id(actor)
        rows = NotificationPreferences.objects.filter(tenant_id=actor.tenant_id, user_id=user_id)
        if not rows.update(**anew):
            NotificationPreferences.objects.create(tenant_id=actor.tenant_id, user_id=user_id, **values)


def claim_preferences(terms_id: int, *, actor: Actor) -> PreferencesLease | None:
    """Take a person's terms for one look; None where another worker has them, or the next look is not due."""
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
    """The message that an earlier try left."""
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
    """Keep, before it is sent, that a message is on its way and of what the person is told by it."""
    with acting_as(actor):
        _leased_rows(held).update(notified_ids=dict(notified_ids))
        if notice is None:
            return EmailNotification.objects.create(
                tenant_id=actor.tenant_id, preferences=held.terms, is_digest=is_digest
            )
    return notice


def mark_skipped(notice: EmailNotification, *, actor: Actor) -> None:
    """Note that nothing was left to tell."""
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
    """Note what a try came to, and let go. A worker that was overtaken notes nothing."""
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
    """Give the terms back until the next look, unless the person changed them or another worker took them meanwhile.

    What was settled is forgotten by `notified`; `is_digest` says that the hour of the digest was looked at.
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
        raise MissingActor("Only people are told what waits.")
    return actor.user_id
