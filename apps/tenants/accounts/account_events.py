"""Account events. This module is their only writer, and it lists a person's own events.

Account events have no change records, because a person belongs to no tenant and so to no tenant's audit log. An admin's act on a
member is also recorded in the tenant's audit log.
"""

from datetime import timedelta
from typing import Final

from django.utils import timezone

from apps.tenants.models.sign_in import AccountEvent

# Limited by age and not by number, because an intruder could flood a fixed number of events to push older ones out.
RETENTION: Final = timedelta(days=365)
EVENTS_SHOWN: Final = 20
Kind = AccountEvent.Kind


def note_event(user_id: int, kind: Kind, *, ip_address: str = "") -> None:
    """Write an event in the transaction of the change that it reports, and delete the person's expired events."""
    rows = AccountEvent.objects.filter(user_id=user_id)
    rows.filter(created_at__lt=timezone.now() - RETENTION).delete()
    AccountEvent.objects.create(user_id=user_id, kind=kind, ip_address=ip_address[:45])


def latest_events(user_id: int) -> list[AccountEvent]:
    """Return a person's events, newest first."""
    return list(AccountEvent.objects.filter(user_id=user_id)[:EVENTS_SHOWN])
