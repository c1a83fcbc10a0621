"""Shared by drafts, escalations and reports: the end of the conversation, and the page after a decision."""

from collections.abc import Callable
from typing import Any

from django.db.models import Model, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.timesince import timesince

from apps.console.conversations.transcripts import reporting_url, transcript
from apps.console.framework.list_columns import column
from apps.console.framework.row_titles import excerpt
from apps.console.framework.worklist_admin import WorklistAdmin
from apps.conversations.models import Conversation, InboundEvent, Message
from apps.desk.models import Draft, Escalation
from apps.desk.queues import waiting_drafts, waiting_escalations, waiting_reports
from apps.desk.reports.models import Report
from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import current_actor
from apps.runtime.turns.waiting_messages import delayed_turn, waiting_events

LINES_SHOWN = 8


def recent_lines(conversation: Conversation, actor: Actor) -> dict[str, Any]:
    """Return the end of the transcript and the messages that wait; the page of the conversation has all of it."""
    return {
        "lines": transcript(conversation)[-LINES_SHOWN:],
        "waiting": waiting_events(conversation),
        "delayed": delayed_turn(conversation),
        "reported_at": reporting_url(conversation, actor),
    }


def with_last_words(rows: QuerySet[Any]) -> QuerySet[Any]:
    """Annotate each row with the last message of the customer in its conversation, answered or not."""
    received = InboundEvent.objects.filter(
        tenant=OuterRef("tenant"), conversation=OuterRef("conversation"), kind=InboundEvent.Kind.MESSAGE
    )
    # The messages of an imported transcript have no events.
    written = Message.objects.filter(conversation=OuterRef("conversation"), sender=Message.Sender.CUSTOMER)
    annotated_rows: QuerySet[Any] = rows.annotate(
        last_words=Coalesce(
            Subquery(received.order_by("-received_at", "-pk").values("text")[:1]),
            Subquery(written.order_by("-position").values("text")[:1]),
        )
    )
    return annotated_rows


class DeskAdmin(WorklistAdmin):
    """Columns that the lists of the desk show besides the fields of their rows."""

    with_more = staticmethod(with_last_words)
    list_select_related = ("agent", "conversation", "conversation__agent")

    asked = column("The customer wrote", lambda row: excerpt(row.last_words or "nothing yet"))
    channel = column("Channel", lambda row: str(row.conversation.channel), ordering="conversation__channel")
    age = column("Age", lambda row: timesince(row.created_at, depth=1), ordering="created_at")


def next_draft_url(draft: Draft) -> str:
    """Return the address of the draft that waits longest, or of the list if none waits."""
    return _page_url("desk_draft", _next_waiting(draft, waiting_drafts))


def next_escalation_url(escalation: Escalation) -> str:
    """Return the address of the escalation that waits longest, or of the list if none waits."""
    return _page_url("desk_escalation", _next_waiting(escalation, waiting_escalations))


def next_report_url(report: Report) -> str:
    """Return the address of the report that waits longest, or of the list if none waits."""
    return _page_url("desk_report", _next_waiting(report, waiting_reports))


def draft_done_message(message: str) -> Callable[[Draft], SafeString]:
    """Return the message after a decision on a draft, with a link back to it and whether another one waits."""
    return lambda draft: _done_message(message, _page_url("desk_draft", draft), _next_waiting(draft, waiting_drafts))


def escalation_done_message(message: str) -> Callable[[Escalation], SafeString]:
    """Return the message after a decision on an escalation, with a link back to it and whether another one waits."""
    return lambda escalation: _done_message(
        message, _page_url("desk_escalation", escalation), _next_waiting(escalation, waiting_escalations)
    )


def report_done_message(message: str) -> Callable[[Report], SafeString]:
    """Return the message after a decision on a report, with a link back to it and whether another one waits."""
    return lambda report: _done_message(
        message, _page_url("desk_report", report), _next_waiting(report, waiting_reports)
    )


def _next_waiting(row: Draft | Escalation | Report, waiting: Callable[[Actor], QuerySet[Any]]) -> Model | None:
    """Return the row that waits longest, besides this one."""
    actor = current_actor()
    return waiting(actor).exclude(pk=row.pk).first() if actor else None


def _done_message(message: str, page: str, following: Model | None) -> SafeString:
    left = "The next one follows." if following else "Nothing else waits."
    return format_html('{} <a href="{}">Look at it again</a>. {}', message, page, left)


def _page_url(stem: str, row: Model | None) -> str:
    return reverse(f"admin:{stem}_change", args=[row.pk]) if row else reverse(f"admin:{stem}_changelist")
