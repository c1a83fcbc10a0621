"""Escalations: questions that agents hand to people, with the conversation they came up in."""

from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest
from django.utils.safestring import SafeString
from unfold.widgets import UnfoldAdminTextareaWidget, UnfoldBooleanWidget

from apps.console.desk.desk_worklists import DeskAdmin, escalation_done_message, next_escalation_url, recent_lines
from apps.console.framework.badges import badge
from apps.console.framework.forms import DecisionForm, VerbatimTextField
from apps.console.framework.page_actions import Button, PanelReader, Tabs, Values
from apps.console.framework.request_context import actor_of
from apps.console.framework.row_titles import excerpt
from apps.desk.actions import dismiss_escalation
from apps.desk.models import Escalation
from apps.desk.rules import ANSWER_CHARACTERS, REASON_CHARACTERS
from apps.governance.actors import Actor
from apps.governance.policy.policy_table import Act
from apps.runtime.turns.operator_replies import answer_question


class AnswerEscalationForm(DecisionForm):
    """The answer, and whether it goes out as it stands."""

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
    """Why it needs no answer."""

    dismissal_reason = VerbatimTextField(
        required=False,
        label="Why it needs no answer (optional)",
        max_length=REASON_CHARACTERS,
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 2}),
    )


def escalation_panels(escalation: Any, request: HttpRequest) -> dict[str, Any]:
    """The end of the conversation it came up in."""
    return recent_lines(escalation.conversation, actor_of(request))


def _answer(escalation: Escalation, actor: Actor, values: Values) -> Escalation:
    return answer_question(
        escalation,
        actor=actor,
        answer=values["answer"],
        word_for_word=values["word_for_word"],
        read_at=values["read_at"],
    )


def _dismiss(escalation: Escalation, actor: Actor, values: Values) -> Escalation:
    return dismiss_escalation(
        escalation, actor=actor, dismissal_reason=values["dismissal_reason"], read_at=values["read_at"]
    )


def _is_open(escalation: Escalation) -> bool:
    return bool(escalation.status == Escalation.Status.OPEN)


class EscalationAdmin(DeskAdmin):
    """What waits for an answer first; settled ones stay to be read."""

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
            _answer,
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
            _dismiss,
            done=escalation_done_message("Dismissed. Nobody is told."),
            consequence="It leaves the desk without an answer; neither the agent nor the customer is told.",
            form=DismissEscalationForm,
            when=_is_open,
            tone="danger",
            leads_to=next_escalation_url,
        ),
    )

    @admin.display(description="Question")
    def asks(self, escalation: Escalation) -> str:
        return excerpt(escalation.question)

    @admin.display(description="Why", ordering="reason")
    def why(self, escalation: Escalation) -> str:
        return str(escalation.get_reason_display())

    @admin.display(description="State", ordering="status")
    def state_shown(self, escalation: Escalation) -> SafeString:
        return badge(escalation.status)
