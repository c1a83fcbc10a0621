"""The pending items that one person may see: their row ids, and since when the oldest has been pending."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db.models import Q, QuerySet

from apps.desk.queues import waiting_drafts, waiting_escalations
from apps.governance.actors import Actor
from apps.governance.models import Proposal
from apps.notifications.rules import NotificationKind
from apps.review.proposal_queues import OVERDUE_AFTER
from apps.runtime.health.stuck_turns import stuck_turns
from apps.runtime.models import Turn
from apps.tools.models import ToolApproval
from apps.webhooks.models import Delivery, Webhook

# Only the newest rows of a kind are read, so that a backlog of thousands costs one short read; a message then says "1,000 or
# more".
MAX_READ: Final = 1_000


@dataclass(frozen=True, slots=True)
class PendingItems:
    """Pending items of one kind, the newest first."""

    kind: NotificationKind
    ids: tuple[int, ...] = ()
    oldest: datetime | None = None
    overdue: int = 0

    @property
    def is_cut(self) -> bool:
        """Return whether there may be more items than were read."""
        return len(self.ids) == MAX_READ

    def new(self, notified_ids: Iterable[int]) -> frozenset[int]:
        """Return the items that the person was not notified of."""
        return frozenset(self.ids) - set(notified_ids)

    def still(self, notified_ids: Iterable[int]) -> list[int]:
        """Return the notified items that are still pending. Items beyond the read limit are kept, as they may be pending."""
        ids = frozenset(self.ids)
        lowest = min(self.ids) if self.is_cut else 0
        return sorted(each for each in notified_ids if each in ids or each < lowest)


def find_pending_items(
    actor: Actor, kinds: Iterable[NotificationKind], now: datetime
) -> Mapping[NotificationKind, PendingItems]:
    """Return the pending items of these kinds, as visible to the notified person. Each kind takes one statement."""
    rows = _rows_by_kind(actor, now)
    return {kind: _read_pending(kind, *rows[kind], now) for kind in kinds}


def _rows_by_kind(actor: Actor, now: datetime) -> Mapping[NotificationKind, tuple[QuerySet[Any], str]]:
    since = "created_at"
    stuck = Q()
    for which in stuck_turns(now).values():
        stuck |= which
    # Members' talks with their assistants are visible to the members alone, so their turns are left out.
    turns = Turn.objects.filter(stuck, tenant_id=actor.tenant_id, conversation__member_user_id=None)
    hooks = Webhook.objects.visible_to(actor).values("pk")
    return {
        NotificationKind.ESCALATIONS: (waiting_escalations(actor), since),
        NotificationKind.TOOL_APPROVALS: (ToolApproval.objects.visible_to(actor).waiting(), since),
        NotificationKind.DRAFTS: (waiting_drafts(actor), since),
        NotificationKind.REVIEWS: (Proposal.objects.visible_to(actor).waiting(now), since),
        NotificationKind.STUCK_TURNS: (turns, "started_at"),
        NotificationKind.DELIVERIES: (
            Delivery.objects.filter(tenant_id=actor.tenant_id, webhook__in=hooks).dead(),
            since,
        ),
    }


def _read_pending(kind: NotificationKind, rows: QuerySet[Any], since: str, now: datetime) -> PendingItems:
    read = list(rows.order_by("-pk").values_list("pk", since)[:MAX_READ])
    if not read:
        return PendingItems(kind)
    late = sum(asked_at < now - OVERDUE_AFTER for _, asked_at in read) if kind is NotificationKind.REVIEWS else 0
    return PendingItems(kind, tuple(pk for pk, _ in read), min(moment for _, moment in read), late)
