"""What an e-mail says: how much waits, for how long, and where to see it. No word of a customer stands in one."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from urllib.parse import urlencode

from django.urls import reverse

from apps.notifications.pending_items import READ, Found
from apps.notifications.rules import Kind

# One of it, several of it, and the list in the console that shows just these.
WORDS: Final[Mapping[Kind, tuple[str, str]]] = {
    Kind.ESCALATIONS: ("escalation", "escalations"),
    Kind.TOOL_APPROVALS: ("call to approve", "calls to approve"),
    Kind.DRAFTS: ("reply draft", "reply drafts"),
    Kind.REVIEWS: ("review", "reviews"),
    Kind.STUCK_TURNS: ("stuck turn", "stuck turns"),
    Kind.DELIVERIES: ("webhook delivery given up", "webhook deliveries given up"),
}
LISTS: Final[Mapping[Kind, tuple[str, Mapping[str, str]]]] = {
    Kind.ESCALATIONS: ("desk_escalation_changelist", {"tab": "open"}),
    Kind.TOOL_APPROVALS: ("tools_toolapproval_changelist", {"tab": "waiting"}),
    Kind.DRAFTS: ("desk_draft_changelist", {"tab": "open"}),
    Kind.REVIEWS: ("governance_proposal_changelist", {}),
    Kind.STUCK_TURNS: ("index", {}),
    Kind.DELIVERIES: ("webhooks_webhook_changelist", {}),
}
OWN_PAGE: Final = "told"
_MINUTE, _HOUR, _DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Message:
    """Subject and text."""

    subject: str
    text: str


def worded(
    found: Sequence[Found], told: Mapping[str, Sequence[int]], *, tenant: str, console: str, now: datetime
) -> Message:
    """The e-mail about what waits; `console` is the address of the console, without a slash at the end."""
    lines = [f"Waiting for people in {tenant}:", ""]
    for each in found:
        new = len(each.new(told.get(each.kind.value, ())))
        lines += [f"- {counted(each, now)}{f', {new:,} new' if new < len(each.ids) and new else ''}"]
        lines += [f"  {console}{_list_of(each.kind)}"]
    lines += ["", "What customers wrote stands in the console alone, never in these messages."]
    lines += [f"What you are told and when, or to stop it: {console}{reverse(f'admin:{OWN_PAGE}')}", ""]
    return Message(f"[{tenant}] {', '.join(counted(each, now) for each in found)}", "\n".join(lines))


def counted(found: Found, now: datetime) -> str:
    """Such as `3 escalations (oldest 40 min)`."""
    count = len(found.ids)
    one, several = WORDS[found.kind]
    said = f"{READ:,} or more {several}" if found.is_cut else f"{count:,} {one if count == 1 else several}"
    beside = ", ".join(_beside(found, now))
    return f"{said} ({beside})" if beside else said


def _beside(found: Found, now: datetime) -> Iterator[str]:
    if found.oldest is not None and not found.is_cut:
        yield f"{'oldest ' if len(found.ids) > 1 else ''}{age(now - found.oldest)}"
    if found.overdue:
        yield f"{found.overdue:,} overdue"


def age(waited: timedelta) -> str:
    """Such as `40 min`, `3 h` or `2 days`."""
    if waited < _HOUR:
        return f"{max(waited // _MINUTE, 0)} min"
    if waited < _DAY:
        return f"{waited // _HOUR} h"
    days = waited // _DAY
    return f"{days} day{'s' if days > 1 else ''}"


def _list_of(kind: Kind) -> str:
    view, narrowed = LISTS[kind]
    return f"{reverse(f'admin:{view}')}{f'?{urlencode(narrowed)}' if narrowed else ''}"
