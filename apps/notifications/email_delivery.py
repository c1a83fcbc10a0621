"""Sends one person an e-mail about pending items: finds the items, stores the message, sends it and records the outcome.

The row is stored before the message is sent, and updated afterwards. If a worker dies in between, its lease expires, and the
message is sent again with the same Message-ID, by which mail clients recognise the copy.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import random
from typing import Final
from urllib.parse import urlsplit

from django.conf import settings
from django.urls import reverse

from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as, outside_tenant
from apps.notifications.email_text import PREFERENCES_PAGE, EmailText, render_email
from apps.notifications.models import EmailNotification
from apps.notifications.notification_store import (
    PreferencesLease,
    begin_notification,
    claim_preferences,
    mark_skipped,
    record_attempt,
    release_preferences,
    waiting_notification,
)
from apps.notifications.pending_items import PendingItems, find_pending_items
from apps.notifications.rules import (
    DeliveryTiming,
    NotificationKind,
    NotificationPlan,
    ZonedPreferences,
    is_digest_due,
    is_quiet,
    next_check,
    plan_notification,
)
from apps.notifications.smtp import MailServer, SendFailure, send
from apps.tenants.authentication.actor_resolution import memberships_of, person_actor, system_actor
from apps.tenants.models import TenantSettings, User
from apps.webhooks.rules import retry_pause

logger = logging.getLogger(__name__)

# The time until the next check of a person who is no longer a member or has no address, since either may change.
NO_RECIPIENT_PAUSE: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class OutgoingEmail:
    """A message that is about to be sent."""

    notice: EmailNotification
    to: str
    message: EmailText


def notify_person(tenant_id: int, terms_id: int, *, now: datetime) -> None:
    """Check the items pending for a person, and send the message that is due. Safe to run twice or concurrently."""
    server: MailServer | None = settings.MAIL_SERVER
    system = system_actor(tenant_id, "notifications")
    held = claim_preferences(terms_id, actor=system) if server else None
    if held is None or server is None:
        return
    email = prepare_email(held, actor=system, now=now)
    if email is not None:
        failed = send_email(server, email)
        record_outcome(held, email.notice, failed, actor=system, now=now)


def prepare_email(held: PreferencesLease, *, actor: Actor, now: datetime) -> OutgoingEmail | None:
    """Store and return the message that is due. If none is due, release the lease until the next check."""
    to, member = _recipient(held)
    if not to or member is None:
        release_preferences(held, now + NO_RECIPIENT_PAUSE, actor=actor)
        return None
    with acting_as(actor):
        tenant = TenantSettings.objects.visible_to(actor).select_related("tenant").get()
        notice = waiting_notification(held)
    terms = held.terms.in_zone(tenant.timezone)
    with acting_as(member):
        waits = find_pending_items(member, terms.kinds(DeliveryTiming.AT_ONCE, DeliveryTiming.DIGEST), now)
    plan = _due_plan(held, notice, terms, waits, now)
    if plan is None:
        _release_until_next(held, terms, waits, now=now, actor=actor)
        return None
    spoken = [waits[kind] for kind in plan.kinds if kind in waits and waits[kind].ids]
    if not spoken and notice is not None:
        mark_skipped(notice, actor=actor)
        release_preferences(held, now, actor=actor)
        return None
    message = render_email(spoken, held.terms.notified_ids, tenant=tenant.tenant.name, console=_console_url(), now=now)
    notified_ids = {**_still_pending(held, waits), **{each.kind.value: sorted(each.ids) for each in spoken}}
    return OutgoingEmail(
        begin_notification(held, notice, notified_ids, is_digest=plan.is_digest, actor=actor), to, message
    )


def send_email(server: MailServer, email: OutgoingEmail) -> SendFailure | None:
    """Send the message, outside of a transaction. Each attempt of a row uses the same Message-ID."""
    own_page = f"{_console_url()}{reverse(f'admin:{PREFERENCES_PAGE}')}"
    message_id = email_message_id(email.notice)
    message = email.message
    return send(server, email.to, message.subject, message.text, message_id=message_id, own_page=own_page)


def record_outcome(
    held: PreferencesLease, notice: EmailNotification, failed: SendFailure | None, *, actor: Actor, now: datetime
) -> None:
    """Record the outcome of an attempt: sent, to be retried, or given up."""
    with acting_as(actor):
        tenant = TenantSettings.objects.visible_to(actor).get()
    terms = held.terms.in_zone(tenant.timezone)
    pause = retry_pause(notice.attempts + 1, random()) if failed and not failed.is_final else None  # noqa: S311  # spreads
    look = (
        next_check(terms, now, told_at_once=not notice.is_digest) if pause is None else now + timedelta(seconds=pause)
    )
    failure_text = failed.said if failed else ""
    record_attempt(held, notice, failure_text, is_last=pause is None, next_check_at=look, actor=actor)
    logger.info("notification e-mail attempted", extra={"notice_id": notice.pk, "failure": failure_text})


def email_message_id(notice: EmailNotification) -> str:
    """Return a Message-ID that is the same for each attempt at a message, and unique to it."""
    host = urlsplit(settings.CONSOLE_URL).hostname or "localhost"
    return f"<notice-{notice.tenant_id}-{notice.pk}-{notice.created_at:%Y%m%d%H%M%S}@{host}>"


def _recipient(held: PreferencesLease) -> tuple[str, Actor | None]:
    """Return the person's address, and the person as an actor with their present permissions."""
    tenant_id, user_id = held.terms.tenant_id, held.terms.user_id
    with outside_tenant():
        roles = dict(memberships_of(user_id))
        to = User.objects.filter(pk=user_id, is_active=True).values_list("email", flat=True).first()
    return to or "", person_actor(user_id, tenant_id, roles[tenant_id]) if tenant_id in roles else None


def _due_plan(
    held: PreferencesLease,
    notice: EmailNotification | None,
    terms: ZonedPreferences,
    waits: Mapping[NotificationKind, PendingItems],
    now: datetime,
) -> NotificationPlan | None:
    """Return the message that is due. Outside quiet hours, an unfinished message comes first; its text is rendered again."""
    if notice is not None:
        soon = (DeliveryTiming.AT_ONCE, DeliveryTiming.DIGEST) if notice.is_digest else (DeliveryTiming.AT_ONCE,)
        return None if is_quiet(terms, now) else NotificationPlan(notice.is_digest, terms.kinds(*soon))
    new = {kind for kind, each in waits.items() if each.new(held.terms.notified_ids.get(kind.value, ()))}
    return plan_notification(terms, new, now=now, last_digest_at=held.terms.last_digest_at)


def _release_until_next(
    held: PreferencesLease,
    terms: ZonedPreferences,
    waits: Mapping[NotificationKind, PendingItems],
    *,
    now: datetime,
    actor: Actor,
) -> None:
    looked = is_digest_due(terms, now=now, last_digest_at=held.terms.last_digest_at) and not is_quiet(terms, now)
    release_preferences(
        held, next_check(terms, now), actor=actor, notified=_still_pending(held, waits), is_digest=looked
    )


def _still_pending(held: PreferencesLease, waits: Mapping[NotificationKind, PendingItems]) -> dict[str, Sequence[int]]:
    """Return the notified ids that are still pending, and all ids of kinds that are off and therefore not read."""
    notified_ids: Mapping[str, Sequence[int]] = held.terms.notified_ids
    read = {kind.value: each for kind, each in waits.items()}
    return {name: read[name].still(ids) if name in read else ids for name, ids in notified_ids.items()}


def _console_url() -> str:
    """Return the console's address without a slash at the end."""
    return str(settings.CONSOLE_URL).rstrip("/")
