"""Reports: replies of agents that people say are wrong, the turn behind each, and the outcome."""

from typing import Any, Final

from django import forms
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.timesince import timesince
from unfold.widgets import UnfoldAdminTextareaWidget

from apps.console.desk.desk_worklists import next_report_url, report_done_message
from apps.console.framework.badges import badge
from apps.console.framework.forms import DecisionForm, VerbatimTextField
from apps.console.framework.governed_admin import GovernedAdmin
from apps.console.framework.list_columns import choice_column, column, excerpt_column, person_column
from apps.console.framework.page_actions import Button, PanelReader, Tabs
from apps.console.framework.row_titles import excerpt
from apps.conversations.models import InboundEvent
from apps.desk.reports.actions import settle_report, withdraw_report
from apps.desk.reports.models import Report
from apps.desk.reports.rules import ONLY_REPORTER_WITHDRAWS, RESOLUTION_CHARACTERS
from apps.governance.database.actor_transaction import current_actor
from apps.governance.policy.policy_table import Act
from apps.learning.lessons.models import LessonCase
from apps.learning.lessons.rules import LessonSource
from apps.runtime.models import Turn

# The pages on which people make the change that an outcome asks for.
OUTCOME_PAGES: Final = {
    Report.Outcome.SKILL: ("skills_skill_changelist", "Skills"),
    Report.Outcome.MEMORY: ("memory_agentmemory_changelist", "Memory"),
    Report.Outcome.PERSONA: ("personas_persona_changelist", "Personas"),
    Report.Outcome.TOOL: ("tools_toolserver_changelist", "Tool servers"),
}


class SettleReportForm(DecisionForm):
    """The outcome of a report: what has to change, or that nothing was wrong."""

    outcome = forms.ChoiceField(
        choices=Report.Outcome.choices, label="What came of it", widget=forms.RadioSelect(attrs={"class": "pc-chips"})
    )
    resolution = VerbatimTextField(
        required=False,
        label="What was done about it (optional)",
        max_length=RESOLUTION_CHARACTERS,
        help_text=f"Up to {RESOLUTION_CHARACTERS:,} characters. Kept in the history.",
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 2}),
    )


def report_panels(report: Any, request: HttpRequest) -> dict[str, Any]:
    """Return the reply with its question and its turn, other reports of it, and the lesson that came of it."""
    message = report.message
    turn = Turn.objects.filter(pk=message.turn_id).select_related("session").first() if message.turn_id else None
    cases = LessonCase.objects.filter(source=LessonSource.REPORTED_REPLY.value, source_id=report.pk)
    place = OUTCOME_PAGES.get(report.outcome)
    return {
        "reply": message,
        "turn": turn,
        "asked": list(InboundEvent.objects.filter(turn_id=message.turn_id)) if message.turn_id else [],
        "others": message.reports.exclude(pk=report.pk).order_by("pk"),
        "case": cases.select_related("lesson").first(),
        "place": {"view": f"admin:{place[0]}", "title": place[1]} if place else None,
        "only_its_reporter": "" if _is_withdrawable(report) else ONLY_REPORTER_WITHDRAWS,
    }


def _is_open(report: Report) -> bool:
    return bool(report.status == Report.Status.OPEN)


def _is_withdrawable(report: Report) -> bool:
    actor = current_actor()
    return actor is not None and _is_open(report) and report.author == actor.label


class ReportAdmin(GovernedAdmin):
    """Reports: those that wait come first; settled and withdrawn ones stay readable."""

    list_display = ("said", "what", "says", "agent", "by", "age", "state_shown")
    list_display_links = ("said",)
    list_filter = ("agent", "reason_code", "outcome")
    list_select_related = ("agent", "message")
    search_fields = ("explanation", "correction")
    search_help_text = "Search what was said of replies"
    tabs = Tabs("status", tuple(Report.Status.choices), first=Report.Status.OPEN)
    empty = "No reply is reported. In a transcript and beside “Why?” every reply of an agent can be, by anybody who reads it."
    fields = ()
    change_form_template = "console/desk/reply_report.html"
    panels = PanelReader(report_panels)
    buttons = (
        Button(
            "settle",
            "Settle",
            Act.REPORT_RESOLVE,
            settle_report,
            done=report_done_message("Settled."),
            consequence="Unless nothing was wrong, it becomes a case for the lessons of the agent within a minute; what else has to"
            " change, you change where it stands. Neither the customer nor the agent is told.",
            form=SettleReportForm,
            when=_is_open,
            tone="primary",
            folded=False,
            leads_to=next_report_url,
        ),
        Button(
            "withdraw",
            "Withdraw",
            Act.REPORT_WITHDRAW,
            withdraw_report,
            done="Withdrawn. Only the history of changes keeps the words.",
            consequence="The words go from every page; that you reported the reply stays. They are kept in the history of changes.",
            when=_is_withdrawable,
            tone="danger",
        ),
    )

    said = excerpt_column("The reply", "message.text")
    what = choice_column("What is wrong", "reason_code")
    says = column("How so", lambda row: excerpt(row.explanation or row.correction))
    by = person_column("By", "author")
    age = column("Age", lambda row: timesince(row.created_at, depth=1), ordering="created_at")
    state_shown = column(
        "State", lambda row: format_html("{} {}", badge(row.status), row.get_outcome_display()), ordering="status"
    )
