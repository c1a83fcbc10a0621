"""The queues of the inbox (waiting, snoozed, decided and others), as query conditions."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Final

from django.db.models import Q

from apps.governance.models import Proposal
from apps.governance.models.proposals import CLAIM_DURATION, expired_condition, open_condition, waiting_condition

State = Proposal.State
# A weekend and a day: a proposal that is still pending after that was probably forgotten.
OVERDUE_AFTER: Final = timedelta(days=3)
LABELS: Mapping[str, str] = MappingProxyType(
    {
        "waiting": "Waiting",
        "snoozed": "Snoozed",
        "needs_second_reviewer": "Needs a second reviewer",
        "decided": "Decided",
        "expired": "Expired",
        "quarantined": "Quarantined",
    }
)


def queue_conditions(now: datetime) -> Mapping[str, Q]:
    """Return the condition of each queue. A proposal that needs a second reviewer is also in the waiting queue."""
    waits = waiting_condition(now)
    return MappingProxyType(
        {
            "waiting": waits,
            "snoozed": open_condition(now) & Q(snoozed_until__gt=now),
            "needs_second_reviewer": waits & Q(approval_count__gt=0),
            "decided": Q(state__in=[State.APPLIED, State.REJECTED]),
            "expired": expired_condition(now),
            "quarantined": Q(state=State.QUARANTINED),
        }
    )


def claimed_condition(now: datetime) -> Q:
    """Return the condition for proposals with a claim that has not lapsed."""
    return Q(claimed_at__gt=now - CLAIM_DURATION)


def overdue_condition(now: datetime) -> Q:
    """Return the condition for proposals that were created longer than `OVERDUE_AFTER` ago."""
    return Q(created_at__lt=now - OVERDUE_AFTER)
