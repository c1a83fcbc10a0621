"""Escalations: questions that agents hand to people, with the conversation they came up in."""

from typing import Any

from django import forms
from django.http import HttpRequest
from unfold.widgets import UnfoldAdminTextareaWidget, UnfoldBooleanWidget

from apps.console.desk.desk_worklists import DeskAdmin, escalation_done_message, next_escalation_url, recent_lines
from apps.console.framework.forms import DecisionForm, VerbatimTextField
from apps.console.framework.list_columns import choice_column, excerpt_column
from apps.console.framework.page_actions import Button, PanelReader, Tabs
from apps.console.framework.request_context import actor_of
from apps.desk.actions import dismiss_escalation
from apps.desk.models import Escalation
from apps.desk.rules import ANSWER_CHARACTERS, REASON_CHARACTERS
from apps.governance.policy.policy_table import Act
from apps.runtime.turns.operator_replies import answer_question


class AnswerEscalationForm(DecisionForm):
    """The answer, and whether the customer gets it word for word."""

    answer = VerbatimTextField(
        label="Your answer", max_length=ANSWER_CHARACTERS, widget=UnfoldAdminTextareaWidget(attrs={"rows": 5})
    )
    word_for_word = forms.BooleanField(
        required=False,
        label="Send it to the customer word for word",
        help_text="Otherwise the agent tells the customer in its own words.",
        widget=UnfoldBooleanWidget,
    )


class DismissEscalationForm(DecisionForm):
    """The reason why a question needs no answer."""

    reason = VerbatimTextField(
        required=False,
        label="Why it needs no answer (optional)",
        max_length=REASON_CHARACTERS,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 2}),
    )


def escalation_panels(escalation: Any, request: HttpRequest) -> dict[str, Any]:
    """The end of the conversation it came up in."""
    return recent_lines(escalation.conversation, actor_of(request))


def _is_open(escalation: Escalation) -> bool:
    return bool(escalation.status == Escalation.Status.OPEN)


class EscalationAdmin(DeskAdmin):
    """Escalations: those that wait come first; settled ones stay readable."""

    list_display = ("asked", "asks", "why", "agent", "channel", "age", "state_shown")
    list_display_links = ("asked",)
    list_filter = ("agent", "reason")
    search_fields = ("question",)
    search_help_text = "Search questions"
    tabs = Tabs("status", tuple(Escalation.Status.choices), first=Escalation.Status.OPEN)
    empty = "No question waits here. Agents hand over what they cannot ground, may not decide, or could not finish."
    fields = ()
    change_form_template = "console/desk/escalation.html"
    row_template = "console/desk/escalation_row.html"
    panels = PanelReader(escalation_panels)
    buttons = (
        Button(
            "answer",
            "Answer",
            Act.ESCALATION_ANSWER,
            answer_question,
            done=escalation_done_message("Answered."),
            consequence="The agent reads your answer and tells the customer, unless you send it word for word.",
            form=AnswerEscalationForm,
            when=_is_open,
            tone="primary",
            folded=False,
            leads_to=next_escalation_url,
        ),
        Button(
            "dismiss",
            "Dismiss",
            Act.ESCALATION_DISMISS,
            dismiss_escalation,
            done=escalation_done_message("Dismissed. Nobody is notified."),
            consequence="It leaves the desk without an answer; neither the agent nor the customer is told.",
            form=DismissEscalationForm,
            when=_is_open,
            tone="danger",
            leads_to=next_escalation_url,
        ),
    )

    asks = excerpt_column("Question", "question")
    why = choice_column("Why", "reason")
