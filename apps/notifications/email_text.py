"""The text of an e-mail: how many items wait, for how long, and links to them. No text of a customer is in it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from urllib.parse import urlencode

from django.urls import reverse

from apps.notifications.pending_items import MAX_READ, PendingItems
from apps.notifications.rules import NotificationKind

# The singular, the plural, and the console list that shows exactly these items.
KIND_LABELS: Final[Mapping[NotificationKind, tuple[str, str]]] = {
    NotificationKind.ESCALATIONS: ("escalation", "escalations"),
    NotificationKind.TOOL_APPROVALS: ("call to approve", "calls to approve"),
    NotificationKind.DRAFTS: ("reply draft", "reply drafts"),
    NotificationKind.REVIEWS: ("review", "reviews"),
    NotificationKind.STUCK_TURNS: ("stuck turn", "stuck turns"),
    NotificationKind.DELIVERIES: ("webhook delivery given up", "webhook deliveries given up"),
}
CONSOLE_LISTS: Final[Mapping[NotificationKind, tuple[str, Mapping[str, str]]]] = {
    NotificationKind.ESCALATIONS: ("desk_escalation_changelist", {"tab": "open"}),
    NotificationKind.TOOL_APPROVALS: ("tools_toolapproval_changelist", {"tab": "waiting"}),
    NotificationKind.DRAFTS: ("desk_draft_changelist", {"tab": "open"}),
    NotificationKind.REVIEWS: ("governance_proposal_changelist", {}),
    NotificationKind.STUCK_TURNS: ("index", {}),
    NotificationKind.DELIVERIES: ("webhooks_webhook_changelist", {}),
}
PREFERENCES_PAGE: Final = "notification_preferences"
_MINUTE, _HOUR, _DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)


@dataclass(frozen=True, slots=True)
class EmailText:
    """Subject and text of an e-mail."""

    subject: str
    text: str


def render_email(
    found: Sequence[PendingItems],
    notified_ids: Mapping[str, Sequence[int]],
    *,
    tenant: str,
    console: str,
    now: datetime,
) -> EmailText:
    """Return the e-mail about pending items; `console` is the address of the console, without a slash at the end."""
    lines = [f"Waiting for people in {tenant}:", ""]
    for each in found:
        new = len(each.new(notified_ids.get(each.kind.value, ())))
        lines += [f"- {count_label(each, now)}{f', {new:,} new' if new < len(each.ids) and new else ''}"]
        lines += [f"  {console}{_list_path(each.kind)}"]
    lines += ["", "Customers' messages are shown only in the console, never in these e-mails."]
    lines += [f"Change or stop these e-mails: {console}{reverse(f'admin:{PREFERENCES_PAGE}')}", ""]
    return EmailText(f"[{tenant}] {', '.join(count_label(each, now) for each in found)}", "\n".join(lines))


def count_label(found: PendingItems, now: datetime) -> str:
    """Return a label such as `3 escalations (oldest 40 min)`."""
    count = len(found.ids)
    one, several = KIND_LABELS[found.kind]
    count_text = f"{MAX_READ:,} or more {several}" if found.is_cut else f"{count:,} {one if count == 1 else several}"
    beside = ", ".join(_count_details(found, now))
    return f"{count_text} ({beside})" if beside else count_text


def _count_details(found: PendingItems, now: datetime) -> Iterator[str]:
    if found.oldest is not None and not found.is_cut:
        yield f"{'oldest ' if len(found.ids) > 1 else ''}{age_label(now - found.oldest)}"
    if found.overdue:
        yield f"{found.overdue:,} overdue"


def age_label(waited: timedelta) -> str:
    """Return an age such as `40 min`, `3 h` or `2 days`."""
    if waited < _HOUR:
        return f"{max(waited // _MINUTE, 0)} min"
    if waited < _DAY:
        return f"{waited // _HOUR} h"
    days = waited // _DAY
    return f"{days} day{'s' if days > 1 else ''}"


def _list_path(kind: NotificationKind) -> str:
    view, narrowed = CONSOLE_LISTS[kind]
    return f"{reverse(f'admin:{view}')}{f'?{urlencode(narrowed)}' if narrowed else ''}"
