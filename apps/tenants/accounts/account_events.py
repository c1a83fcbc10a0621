"""The one writer of what happened to people's accounts, and what a person is shown of it.

No change record: a person belongs to no tenant, so no tenant's books have a place for it. What an admin does to a member is
recorded there besides.
"""

from datetime import timedelta
from typing import Final

from django.utils import timezone

from apps.tenants.models.sign_in import AccountEvent

# By time and not by number: whoever is in could push out a number of them.
RETENTION: Final = timedelta(days=365)
EVENTS_SHOWN: Final = 20
Kind = AccountEvent.Kind


def note_event(user_id: int, kind: Kind, *, ip_address: str = "") -> None:
    """Write it beside the change, in the transaction of the change; what is too old goes with it."""
    rows = AccountEvent.objects.filter(user_id=user_id)
    rows.filter(created_at__lt=timezone.now() - RETENTION).delete()
    AccountEvent.objects.create(user_id=user_id, kind=kind, ip_address=ip_address[:45])


def latest_events(user_id: int) -> list[AccountEvent]:
    """The latest first."""
    return list(AccountEvent.objects.filter(user_id=user_id)[:EVENTS_SHOWN])
