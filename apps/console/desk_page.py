"""What the pages of drafts and escalations show of their conversation, and where one lands after a decision."""

from typing import Any

from django.db.models import Model, OuterRef, QuerySet, Subquery
from django.urls import reverse

from apps.console.transcripts import transcript
from apps.conversations.models import Conversation, Message
from apps.desk.models import Draft, Escalation
from apps.desk.waiting import waiting_drafts, waiting_escalations
from apps.governance.acting import acting_actor

LINES_SHOWN = 8
EXCERPT_CHARACTERS = 120


def lately(conversation: Conversation) -> dict[str, Any]:
    """The end of the transcript and what came since; the page of the conversation has all of it."""
    since = conversation.events.filter(turn_id__isnull=True)
    return {"lines": transcript(conversation)[-LINES_SHOWN:], "waiting": since}


def excerpt(text: str) -> str:
    """The beginning of a text, on one line."""
    line = " ".join(text.split())
    return line if len(line) <= EXCERPT_CHARACTERS else f"{line[:EXCERPT_CHARACTERS]}…"


def with_last_words(rows: QuerySet[Any]) -> QuerySet[Any]:
    """Each row with what the customer wrote last in its conversation."""
    said = Message.objects.filter(conversation=OuterRef("conversation"), sender=Message.Sender.CUSTOMER)
    told: QuerySet[Any] = rows.annotate(last_words=Subquery(said.order_by("-position").values("text")[:1]))
    return told


def next_draft(draft: Draft) -> str:
    """The draft that waits longest, or the list if none does."""
    actor = acting_actor()
    row = waiting_drafts(actor).exclude(pk=draft.pk).first() if actor else None
    return _page("desk_draft", row)


def next_escalation(escalation: Escalation) -> str:
    """The same of questions."""
    actor = acting_actor()
    row = waiting_escalations(actor).exclude(pk=escalation.pk).first() if actor else None
    return _page("desk_escalation", row)


def _page(stem: str, row: Model | None) -> str:
    return reverse(f"admin:{stem}_change", args=[row.pk]) if row else reverse(f"admin:{stem}_changelist")
