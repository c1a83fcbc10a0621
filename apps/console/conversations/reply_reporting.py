"""Report a reply where it is read: in the transcript, and on the page that explains it."""

from collections.abc import Iterable
from typing import Any, Final

from django import forms
from django.db.models import Count, IntegerField, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextareaWidget

from apps.console.conversations.transcripts import TranscriptStep, reporting_url
from apps.console.framework.change_lists import FixedChoicesFilter, TabbedList
from apps.console.framework.forms import DecisionForm, VerbatimTextField
from apps.console.framework.page_actions import Button, ButtonForm, RefusedDecision, Values, button_forms
from apps.console.framework.request_context import actor_of
from apps.console.framework.row_titles import excerpt, format_moment
from apps.conversations.models import Message
from apps.desk.queues import REPORT_FILTERS, reported_conversation_ids
from apps.desk.reports.models import Report
from apps.desk.reports.rules import CORRECTION_CHARACTERS, EXPLANATION_CHARACTERS
from apps.governance.actors import Actor
from apps.governance.policy.policy_table import Act
from apps.governance.row_ids import parse_row_id
from apps.learning.reply_reports import report_reply

REPLY_PARAMETER: Final = "reply"
DECIDE_VIEW: Final = "admin:conversations_conversation_decide"


class ReportReplyForm(DecisionForm):
    """The reply that is wrong, the reason, and optionally the right words."""

    message_id = forms.IntegerField(label="Which reply", widget=UnfoldAdminSelectWidget)
    reason_code = forms.ChoiceField(
        choices=Report.Reason.choices,
        label="What is wrong with it",
        widget=forms.RadioSelect(attrs={"class": "pc-chips"}),
    )
    explanation = VerbatimTextField(
        required=False,
        label="How so (asked for where the reason is another)",
        max_length=EXPLANATION_CHARACTERS,
        help_text=f"Up to {EXPLANATION_CHARACTERS:,} characters. For whoever settles it.",
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 2}),
    )
    correction = VerbatimTextField(
        required=False,
        label="What should have been said (optional)",
        max_length=CORRECTION_CHARACTERS,
        help_text=f"Up to {CORRECTION_CHARACTERS:,} characters. It becomes a lesson once the report is settled.",
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 3}),
    )

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.again(self.initial)

    def again(self, initial: Values) -> None:
        """Offer the replies of the page; hide the choice where the form is about one reply."""
        if initial.get("is_named"):
            self.fields["message_id"].widget = forms.HiddenInput()
        else:
            self.fields["message_id"].widget.choices = list(initial.get("replies", ()))


def offer_replies(conversation: Any, lines: Iterable[TranscriptStep], request: HttpRequest) -> None:
    """Let the page's form offer the replies that are shown, the latest first, and begin with the one that the address names."""
    replies = [line for line in lines if line.is_agents_reply and line.text]
    conversation.replies = [
        (line.message_id, f"{format_moment(line.at)}: {excerpt(line.text)}") for line in reversed(replies)
    ]
    refused: RefusedDecision | None = getattr(request, "refused_decision", None)
    again = refused.form.data if refused and refused.is_of(conversation, REPORT_BUTTON) else None
    asked = request.GET.get(REPLY_PARAMETER, "") if again is None else str(again.get("message_id", ""))
    named = parse_row_id(asked)
    conversation.reply = named if named in dict(conversation.replies) else 0


def report_form(reply: Message, request: HttpRequest) -> ButtonForm | None:
    """Return the form on a page about one reply; None where the reply cannot be reported."""
    conversation: Any = reply.conversation
    if not reporting_url(conversation, actor_of(request)):
        return None
    conversation.replies, conversation.reply = [(reply.pk, excerpt(reply.text))], reply.pk
    return next(button_forms(conversation, (REPORT_BUTTON,), actor_of(request), DECIDE_VIEW, None), None)


def _report_initial(conversation: Any) -> dict[str, object]:
    latest = next((message_id for message_id, _ in conversation.replies), 0)
    return {
        "replies": conversation.replies,
        "message_id": conversation.reply or latest,
        "is_named": bool(conversation.reply),
    }


def _has_replies(conversation: Any) -> bool:
    return bool(not conversation.off_the_record and conversation.replies)


def _report(conversation: Any, *, actor: Actor, message_id: int, **report_fields: str) -> Report:
    report = report_reply(message_id, actor=actor, **report_fields)
    conversation.position = report.message.position
    return report


def _reported_message(report: Report) -> SafeString:
    page = reverse("admin:desk_report_change", args=[report.pk])
    return format_html('Reported. <a href="{}">The report</a> waits for somebody who settles it.', page)


def _reply_url(conversation: Any) -> str:
    page = reverse("admin:conversations_conversation_change", args=[conversation.pk])
    return f"{page}#message-{conversation.position}"


REPORT_BUTTON: Final = Button(
    "report",
    "Report a reply",
    Act.REPORT_CREATE,
    _report,
    takes_read_at=False,
    done=_reported_message,
    consequence="For the people who look after the agent. Neither the customer nor the agent is told; once somebody settles it,"
    " what you write may teach the agent, without what identifies anybody.",
    form=ReportReplyForm,
    initial=_report_initial,
    when=_has_replies,
    leads_to=_reply_url,
    on_others=True,
    beside=True,
)


class ConversationList(TabbedList):
    """The list of conversations, with how many of their replies were reported."""

    def get_queryset(self, request: HttpRequest, exclude_parameters: Any = None) -> QuerySet[Any]:
        """Annotate the reported replies; only the rows of the page are counted."""
        rows: QuerySet[Any] = super().get_queryset(request, exclude_parameters)
        of_row = Report.objects.open().filter(conversation=OuterRef("pk")).order_by()
        counted = of_row.values("conversation").annotate(count=Count("message", distinct=True)).values("count")
        counted_too: QuerySet[Any] = rows.annotate(reported=Coalesce(Subquery(counted), 0, output_field=IntegerField()))
        return counted_too


class ReportedFilter(FixedChoicesFilter):
    """Whether a reply was reported as wrong."""

    title = "reported"
    parameter_name = "reported"

    offered = tuple(REPORT_FILTERS.items())

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """The conversations with such a report."""
        which = self.value() or ""
        if which not in REPORT_FILTERS:
            return queryset
        return queryset.filter(pk__in=reported_conversation_ids(actor_of(request), which))
