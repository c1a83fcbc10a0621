"""The queues of the inbox (waiting, snoozed, decided and others), as query conditions.

Whether a proposal needs a rebase is not stored. It is computed from the live text of the row that the proposal would change, so a
list is right however the row was changed. `approval_verdict.needs_rebase` is the same rule for a loaded row.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from functools import reduce
from operator import or_
from types import MappingProxyType
from typing import Final

from django.db.models import Exists, OuterRef, Q
from django.db.models.functions import Now
from django.db.models.lookups import Exact

from apps.governance.models import Proposal
from apps.governance.models.proposals import CLAIM_DURATION, expired_condition, open_condition, waiting_condition
from apps.review.appliers.registry import APPLIERS

State = Proposal.State
# A weekend and a day: a proposal that is still pending after that was probably forgotten.
OVERDUE_AFTER: Final = timedelta(days=3)
LABELS: Mapping[str, str] = MappingProxyType(
    {
        "waiting": "Waiting",
        "snoozed": "Snoozed",
        "needs_second_reviewer": "Needs a second reviewer",
        "needs_rebase": "Needs a rebase",
        "decided": "Decided",
        "expired": "Expired",
        "quarantined": "Quarantined",
    }
)


def queue_conditions(now: datetime) -> Mapping[str, Q]:
    """Return the condition of each queue. A proposal that needs a second reviewer or a rebase is also in the waiting queue."""
    waits = waiting_condition(now)
    return MappingProxyType(
        {
            "waiting": waits,
            "snoozed": open_condition(now) & Q(snoozed_until__gt=now),
            "needs_second_reviewer": waits & Q(approval_count__gt=0),
            "needs_rebase": waits & rebase_condition(),
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


def rebase_condition() -> Q:
    """Return the condition for open proposals whose target changed since they were bound to it, by the database's clock."""
    return open_condition(Now()) & reduce(or_, _changed_target_conditions())


def _changed_target_conditions() -> Iterator[Q]:
    for (kind, target_type), applier in APPLIERS.items():
        if applier.sql_sha256 is None:
            continue
        bound = Q(kind=kind, target_type=target_type)
        if applier.free_text:
            bound &= Q(edited_content__isnull=False)
        target = applier.model._default_manager.filter(tenant=OuterRef("tenant"), pk=OuterRef("target_id"))
        yield bound & Q(Exists(target.exclude(Exact(applier.sql_sha256, OuterRef("base_sha256")))))
