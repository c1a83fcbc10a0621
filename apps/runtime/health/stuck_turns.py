"""Finds stuck turns, by reason, to show them to people, since some of these turns need a person's help."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Final

from django.db.models import Q

from apps.runtime.models import Turn
from apps.runtime.turns.blocked_turns import BLOCKED_CODES

# A turn counts as stuck only after it has been retried for this long, or some time after its lease expired.
RETRYING_FOR: Final = timedelta(minutes=10)
LEASE_MARGIN: Final = timedelta(minutes=1)

KINDS: Final = ("retried", "lease_expired", "blocked")


def stuck_turns(now: datetime) -> Mapping[str, Q]:
    """The kinds of stuck turns, each with its filter. No turn matches more than one filter."""
    running = Q(status=Turn.Status.RUNNING)
    parked = Q(is_released=True, failure_code__in=BLOCKED_CODES)
    lapsed = Q(is_released=False, lease_until__lt=now - LEASE_MARGIN)
    tried = Q(failed_calls__gt=0, started_at__lt=now - RETRYING_FOR)
    return MappingProxyType(
        {"retried": running & tried & ~parked & ~lapsed, "lease_expired": running & lapsed, "blocked": running & parked}
    )
