"""Conversations: the transcript, the sessions and turns behind it, and what was learned."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from django.contrib import admin
from django.db.models import Q
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString

from apps.console.conversations.lineage import lineage_of, lineage_rows
from apps.console.conversations.reply_reporting import REPORT_BUTTON, ConversationList, ReportedFilter, offer_replies
from apps.console.conversations.stuck_turns import StuckFilter
from apps.console.conversations.takeover import TAKEOVER_BUTTONS
from apps.console.conversations.transcripts import reporting_url, transcript
from apps.console.framework.change_lists import RecentValuesFilter
from apps.console.framework.forms import ReasonedDecisionForm, ResolutionForm
from apps.console.framework.governed_admin import GovernedAdmin
from apps.console.framework.list_columns import column
from apps.console.framework.page_actions import Button, PanelReader, Tabs
from apps.console.framework.request_context import actor_of
from apps.console.framework.token_usage import TokenUsage, total_usage
from apps.conversations.actions import abandon_conversation, resolve_conversation
from apps.conversations.models import Conversation
from apps.conversations.quarantine import release_conversation
from apps.desk.models import Draft, Escalation
from apps.governance.database.actor_transaction import current_actor
from apps.governance.policy.policy_table import Act
from apps.learning.lineage import descendants, quarantine_descendants
from apps.runtime.explain.turn_retrieval import Retrieval, retrieval_of
from apps.runtime.models import Turn
from apps.runtime.turns.waiting_messages import delayed_turn, waiting_events

TURNS_SHOWN = 50


@dataclass(frozen=True, slots=True)
class ShownTurn:
    """A turn with the token usage of its model calls, and what it retrieved from the learning."""

    turn: Turn
    usage: TokenUsage
    retrieval: Retrieval


def conversation_panels(conversation: Any, request: HttpRequest) -> dict[str, Any]:
    """Return everything that the page of a conversation shows."""
    actor, lines = actor_of(request), transcript(conversation)
    lineage = lineage_of(conversation, actor)
    offer_replies(conversation, lines, request)
    turns = list(_turns(conversation.turns.select_related("session").prefetch_related("calls")[:TURNS_SHOWN]))
    return {
        "lines": lines,
        "reported_at": reporting_url(conversation, actor),
        "explains": not conversation.off_the_record,
        "waiting": waiting_events(conversation),
        "delayed": delayed_turn(conversation),
        "draft": conversation.drafts.filter(status=Draft.Status.OPEN).first(),
        "asked_agents": conversation.children.select_related("agent"),
        "questions": conversation.escalations.filter(status=Escalation.Status.OPEN).select_related("agent"),
        "sessions": conversation.sessions.all(),
        "turns": turns,
        "is_stand_in": any(taken.usage.is_stand_in for taken in turns),
        "extraction": getattr(conversation, "extraction", None),
        "is_open": _is_open(conversation),
        "lineage": lineage,
        "reached": lineage_rows(lineage),
    }


def _turns(turns: Iterable[Turn]) -> Iterator[ShownTurn]:
    for turn in turns:
        yield ShownTurn(turn, total_usage(turn.calls.all()), retrieval_of(turn))


def _can_be_quarantined(conversation: Conversation) -> bool:
    reader = current_actor()
    if reader is None or conversation.is_talk:
        return False
    return not conversation.is_quarantined or any(
        row.can_be_quarantined for row in descendants(conversation, actor=reader)
    )


def _is_quarantined(conversation: Conversation) -> bool:
    return conversation.is_quarantined


def _solved_initial(conversation: Conversation) -> dict[str, str]:
    return {"outcome": Conversation.Outcome.SOLVED}


def _is_open(conversation: Conversation) -> bool:
    return bool(conversation.status == Conversation.Status.OPEN)


class ConversationAdmin(GovernedAdmin):
    """Conversations of every channel."""

    # Members' talks have a page of their own.
    only = Q(member_user_id=None)
    list_display = (
        "thread",
        "agent",
        "status",
        "in_hand",
        "outcome",
        "rating",
        "end_user_key",
        "reports",
        "verdict",
        "updated",
    )
    list_filter = (
        "agent",
        ("channel", RecentValuesFilter),
        "outcome",
        "origin",
        "off_the_record",
        "has_external_agent",
        ReportedFilter,
        StuckFilter,
    )
    list_select_related = ("agent", "extraction")
    search_fields = ("conversation_key", "end_user_key")
    search_help_text = "Search thread or customer"
    tabs = Tabs("status", tuple(Conversation.Status.choices))
    empty = "No conversation here. They begin with a message to /api/v1/messages/, or with an import of transcripts."
    fields = ()
    change_form_template = "console/conversations/conversation.html"
    panels = PanelReader(conversation_panels)
    changelist = ConversationList
    buttons = (
        *TAKEOVER_BUTTONS,
        Button(
            "resolve",
            "Resolve",
            Act.CONVERSATION_RESOLVE,
            resolve_conversation,
            done="Resolved. What can be learned from it appears under Extractions in a moment.",
            consequence="The conversation ends, and the learning looks at it, unless it is off the record."
            " A later message opens a new one.",
            form=ResolutionForm,
            initial=_solved_initial,
            when=_is_open,
            tone="primary",
        ),
        Button(
            "abandon",
            "Abandon",
            Act.CONVERSATION_ABANDON,
            abandon_conversation,
            done="Abandoned. Nothing is learned from it.",
            consequence="The conversation ends, and nothing is learned from it. A later message opens a new one.",
            when=_is_open,
        ),
        Button(
            "quarantine",
            "Quarantine all of it",
            Act.CONVERSATION_QUARANTINE,
            quarantine_descendants,
            takes_read_at=False,
            done="In quarantine. The conversation and each row can be released separately.",
            consequence="Nothing more is learned from this conversation, and lessons and examples from it are not used. Skills that"
            " came of it are found by no agent any more, proposals wait for nobody, and the lines it left in memory and profiles"
            " are taken out, until somebody releases them. Open sessions with any of this text get a new prompt with their next"
            " turn, which is written to the cache once. The agent goes on answering here.",
            form=ReasonedDecisionForm,
            when=_can_be_quarantined,
            tone="danger",
            on_others=True,
        ),
        Button(
            "release",
            "Release",
            Act.CONVERSATION_RELEASE,
            release_conversation,
            done="Released. Learning may use the conversation again.",
            consequence="Learning may use this conversation again. Skills, proposals and lines that came of it stay in quarantine"
            " until each is released on its own page.",
            form=ReasonedDecisionForm,
            when=_is_quarantined,
            on_others=True,
        ),
        REPORT_BUTTON,
    )

    thread = column("Thread", str, ordering="conversation_key")

    @admin.display(description="In hand", ordering="taken_over_at")
    def in_hand(self, conversation: Any) -> str:
        return str(conversation.people[conversation.taken_over_by]) if conversation.is_held else "the agent's"

    @admin.display(description="Reported", ordering="reported")
    def reports(self, conversation: Any) -> SafeString | str:
        if not conversation.reported:
            return ""
        return format_html('<span class="pc-badge pc-waiting">{} reported</span>', conversation.reported)

    @admin.display(description="Learned")
    def verdict(self, conversation: Conversation) -> str:
        extraction = getattr(conversation, "extraction", None)
        return extraction.get_verdict_display() if extraction else "not looked at"
