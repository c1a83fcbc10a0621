"""Schedules: when agents start by themselves, the result of the last run, and approval by a person."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from apps.console.framework.change_lists import TabbedList
from apps.console.framework.forms import GovernedForm, OptionalReasonForm
from apps.console.framework.governed_admin import GovernedAdmin
from apps.console.framework.page_actions import Button, CreateAction, EditAction, PanelReader, Tabs, as_mapping
from apps.console.framework.row_titles import format_moment
from apps.governance.actors import Actor
from apps.governance.policy.policy_table import Act
from apps.runtime.schedules.run_history import COUNTED_DAYS, last_runs, outcome_totals, runs_of_schedule
from apps.runtime.schedules.schedule_runner import run_schedule_now
from apps.schedules.actions import (
    amend_schedule,
    approve_schedule,
    deprecate_schedule,
    draft_schedule,
    pause_schedule,
    resume_schedule,
)
from apps.schedules.models import Schedule, ScheduleRun
from apps.skills.models import Skill
from apps.tenants.models import Agent

Status = Schedule.Status
PLAN_FIELDS = ("title", "cron", "timezone", "skill", "instruction", "channel", "missed_runs", "preamble")


class PlanForm(GovernedForm):
    """Form of a schedule. The action fills in an empty time zone, so no constraint may check the field before."""

    def _get_validation_exclusions(self) -> set[str]:
        excluded: set[str] = super()._get_validation_exclusions()  # type: ignore[misc]  # not in the stubs
        return excluded if self.cleaned_data.get("timezone") else excluded | {"timezone"}


class ScheduleList(TabbedList):
    """The list of schedules, each with the result of its last run."""

    def get_results(self, request: HttpRequest) -> None:
        """Attach the last run to each row of the page, in two statements for all rows."""
        super().get_results(request)
        last = last_runs(self.result_list)
        for row in self.result_list:
            row.last_run = last.get(row.pk)


def schedule_panels(schedule: Any, request: HttpRequest) -> dict[str, Any]:
    """Return the latest runs, and whether the skill is approved, so that it can run."""
    return {
        "runs": runs_of_schedule(schedule),
        "totals": outcome_totals(schedule),
        "counted_days": COUNTED_DAYS,
        "next_run": next_run_of(schedule),
        "is_runnable": schedule.skill.status == Skill.Status.APPROVED,
    }


def next_run_of(schedule: Any) -> Any:
    """Return the time of the next run; None while the schedule does not run."""
    clock = getattr(schedule, "clock", None)
    return clock.next_run_at if clock and schedule.status == Status.APPROVED else None


def _draft(*, actor: Actor, agent: Agent, **plan: Any) -> Schedule:
    return draft_schedule(agent.pk, actor=actor, values=plan)


def _run(schedule: Schedule, *, actor: Actor) -> ScheduleRun:
    return run_schedule_now(schedule.pk, actor=actor)


def _is_draft(schedule: Schedule) -> bool:
    return bool(schedule.status == Status.DRAFT)


def _is_approved(schedule: Schedule) -> bool:
    return bool(schedule.status == Status.APPROVED)


def _is_paused(schedule: Schedule) -> bool:
    return bool(schedule.status == Status.PAUSED)


def _may_run(schedule: Schedule) -> bool:
    return schedule.status in {Status.APPROVED, Status.PAUSED}


def _is_not_deprecated(schedule: Schedule) -> bool:
    return bool(schedule.status != Status.DEPRECATED)


class ScheduleAdmin(GovernedAdmin):
    """Schedules with the time of the next run and the result of the last."""

    list_display = ("key", "agent", "title", "cron", "next_run", "last_planned", "came_of_it", "state_shown")
    list_filter = ("agent",)
    list_select_related = ("agent", "skill", "clock")
    search_fields = ("key", "title")
    search_help_text = "Search key or title"
    tabs = Tabs("status", tuple(Status.choices))
    changelist = ScheduleList
    empty = "No schedule yet: agents speak when they are spoken to. Add one to have an agent follow an approved skill by the clock."
    form = PlanForm
    add_fields = ("agent", "key", *PLAN_FIELDS)
    fields = PLAN_FIELDS
    change_form_template = "console/agents/schedule.html"
    edit_label = "Change the plan"
    saved = "Saved. A draft runs once it is approved; an approved schedule follows the new plan from now on."
    creates = CreateAction(Act.SCHEDULE_DRAFT, _draft, add_fields)
    amends = (EditAction(Act.SCHEDULE_AMEND, as_mapping(amend_schedule), when=_is_not_deprecated),)
    panels = PanelReader(schedule_panels)
    buttons = (
        Button(
            "approve",
            "Approve",
            Act.SCHEDULE_APPROVE,
            approve_schedule,
            done="Approved. It runs at its next planned time.",
            consequence="From its next time on agent {agent} begins by itself, with the skill and the words above.",
            form=OptionalReasonForm,
            when=_is_draft,
            tone="primary",
            folded=False,
        ),
        Button(
            "run",
            "Run now",
            Act.SCHEDULE_RUN,
            _run,
            takes_read_at=False,
            done="Started. The result appears among the runs below.",
            consequence="It runs once, now, beside its plan. It posts as it always does.",
            when=_may_run,
        ),
        Button(
            "pause",
            "Pause",
            Act.SCHEDULE_PAUSE,
            pause_schedule,
            done="Paused. It does not run until somebody resumes it.",
            consequence="It runs no more until somebody resumes it; what has begun goes on to its end.",
            form=OptionalReasonForm,
            when=_is_approved,
        ),
        Button(
            "resume",
            "Resume",
            Act.SCHEDULE_RESUME,
            resume_schedule,
            done="Resumed. It runs at its next planned time.",
            consequence="It runs from its next time on; what would have been meanwhile is not made up for.",
            form=OptionalReasonForm,
            when=_is_paused,
            tone="primary",
        ),
        Button(
            "deprecate",
            "Deprecate",
            Act.SCHEDULE_DEPRECATE,
            deprecate_schedule,
            done="Deprecated. It never runs again.",
            consequence="It never runs again, and there is no way back. Its runs stay readable.",
            form=OptionalReasonForm,
            when=_is_not_deprecated,
            tone="danger",
        ),
    )

    @admin.display(description="Next run")
    def next_run(self, schedule: Schedule) -> str:
        at = next_run_of(schedule)
        return format_moment(at) if at else "—"

    @admin.display(description="Last run")
    def last_planned(self, schedule: Any) -> str:
        return format_moment(schedule.last_run.planned_at) if schedule.last_run else "never"

    @admin.display(description="What came of it")
    def came_of_it(self, schedule: Any) -> str:
        return schedule.last_run.sentence if schedule.last_run else "—"
