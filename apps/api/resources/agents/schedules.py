"""Schedules: the times at which an agent starts by itself, and the approved skill it follows (R123).

Agents draft; people decide.
"""

from typing import Any, ClassVar

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import (
    CharField,
    ChoiceField,
    DateTimeField,
    IntegerField,
    Serializer,
    SerializerMethodField,
)

from apps.api.framework.base_views import RowViewSet
from apps.api.framework.row_actions import decision_action
from apps.api.protocol.filters import AgentFilters, CharFilter, ChoiceFilter, SearchFilter
from apps.api.protocol.request_bodies import RequestBody, StrictIntegerField, StrictTextField
from apps.api.protocol.serializers import STAMP_FIELDS, RowSerializer, agent_key
from apps.api.resources.agents.agents import agent_id_named
from apps.governance.policy.policy_table import Act
from apps.runtime.schedules.run_history import RunSummary, runs_of_schedule
from apps.runtime.schedules.schedule_runner import run_schedule_now
from apps.runtime.tools.schedule_tools import skill_named
from apps.schedules.actions import (
    amend_schedule,
    approve_schedule,
    deprecate_schedule,
    draft_schedule,
    pause_schedule,
    resume_schedule,
)
from apps.schedules.models import Schedule
from apps.skills.models import Skill

VERSION_HELP = "The schedule's version that was read."
PLAN_FIELDS = ("title", "cron", "timezone", "instruction", "preamble", "channel", "missed_runs")


class ScheduleSerializer(RowSerializer[Schedule]):
    """A schedule, its approver, and its next run."""

    agent_key = agent_key()
    skill = CharField(source="skill.name", read_only=True, help_text="The skill's name.")
    next_run_at = SerializerMethodField()

    class Meta:
        model = Schedule
        fields = (
            *("id", "agent_key", "key", "title", "cron", "timezone", "skill", "instruction", "preamble", "channel"),
            *("missed_runs", "status", "drafted_by", "approved_by", "approved_at", "next_run_at"),
            *(*STAMP_FIELDS, "ignored_fields"),
        )
        read_only_fields = fields

    @extend_schema(responses=DateTimeField(allow_null=True))
    def get_next_run_at(self, schedule: Schedule) -> str | None:
        """Return the time of the next run; null while the schedule does not run."""
        clock = getattr(schedule, "clock", None)
        runs = clock is not None and schedule.status == Schedule.Status.APPROVED
        return DateTimeField().to_representation(clock.next_run_at) if clock and runs else None


class ScheduleRunSerializer(Serializer[RunSummary]):
    """One run and its result."""

    id = IntegerField(source="run.pk")
    planned_at = DateTimeField()
    outcome = CharField(
        help_text="waiting, running, replied, drafted, observed, escalated, silent, skipped or refused."
    )
    reason = CharField(help_text="Why the run had no result, if it had none.")
    missed_count = IntegerField(
        source="run.missed_count", help_text="Number of planned times before it that were missed."
    )
    requested_by = CharField(
        source="run.requested_by", help_text="The person who started the run by hand; empty for a planned run."
    )
    conversation_id = IntegerField(source="run.conversation_id", allow_null=True)


class DraftScheduleBody(RequestBody):
    """A new schedule."""

    acts = (Act.SCHEDULE_DRAFT,)
    shown = frozenset(ScheduleSerializer.Meta.fields)

    agent_key = StrictTextField(required=False, help_text="Left out by an agent: the agent itself.")
    key = StrictTextField()
    title = StrictTextField()
    cron = StrictTextField(help_text="Minute, hour, day of the month, month, day of the week.")
    timezone = StrictTextField(required=False, help_text="Such as Europe/Madrid. Left out: the tenant's.")
    skill = StrictTextField(help_text="The name of an approved skill of the agent.")
    instruction = StrictTextField(required=False)
    preamble = StrictTextField(required=False)
    channel = StrictTextField(required=False, help_text="Left out: the result is posted nowhere.")
    missed_runs = ChoiceField(Schedule.Missed.choices, required=False)


class UpdateScheduleBody(RequestBody):
    """New values of a schedule."""

    acts = (Act.SCHEDULE_AMEND,)
    shown = frozenset(ScheduleSerializer.Meta.fields)
    whole = (*PLAN_FIELDS, "skill")

    title = StrictTextField(required=False)
    cron = StrictTextField(required=False)
    timezone = StrictTextField(required=False)
    skill = StrictTextField(required=False)
    instruction = StrictTextField(required=False)
    preamble = StrictTextField(required=False)
    channel = StrictTextField(required=False)
    missed_runs = ChoiceField(Schedule.Missed.choices, required=False)
    version = StrictIntegerField(required=False, help_text=VERSION_HELP)
    reason = StrictTextField(required=False)


class ScheduleFilters(AgentFilters):
    """Filter by agent, key and state."""

    key = CharFilter()
    status = ChoiceFilter(choices=Schedule.Status.choices)
    search = SearchFilter("key", "title")


class ScheduleView(RowViewSet[Schedule]):
    """Schedules. An agent sees its own, drafts them, and withdraws its drafts; people decide."""

    acts: ClassVar = {
        "create": (Act.SCHEDULE_DRAFT,),
        "partial_update": (Act.SCHEDULE_AMEND,),
        "approve": (Act.SCHEDULE_APPROVE,),
        "pause": (Act.SCHEDULE_PAUSE,),
        "resume": (Act.SCHEDULE_RESUME,),
        "deprecate": (Act.SCHEDULE_DEPRECATE,),
        "run": (Act.SCHEDULE_RUN,),
    }
    queryset = Schedule.objects.none()
    in_bulk = ("create", "update", "pause", "resume", "deprecate")
    serializer_class = ScheduleSerializer
    filterset_class = ScheduleFilters

    def get_queryset(self) -> QuerySet[Schedule]:
        """Return the rows that the actor may see."""
        return Schedule.objects.visible_to(self.actor).select_related("agent", "skill", "clock")

    @extend_schema(request=DraftScheduleBody, responses={201: ScheduleSerializer})
    def create(self, request: Request) -> Response:
        """Draft a schedule. It runs once a person has approved it."""
        sent = DraftScheduleBody.read(request, self.actor)
        agent_id = agent_id_named(sent.values.get("agent_key"), self.actor)
        values = {**sent.only("key", *PLAN_FIELDS), "skill": self._find_skill(sent.values["skill"], agent_id)}
        schedule = draft_schedule(agent_id, actor=self.actor, values=values)
        return self.answer(schedule.pk, sent.ignored, 201)

    @extend_schema(request=UpdateScheduleBody, responses=ScheduleSerializer)
    def partial_update(self, request: Request, pk: str) -> Response:
        """Change a schedule, from now on. People only."""
        schedule = self.get_object()
        sent = UpdateScheduleBody.read(request, self.actor, schedule)
        values: dict[str, Any] = sent.only(*PLAN_FIELDS)
        if "skill" in sent.values:
            values["skill"] = self._find_skill(sent.values["skill"], schedule.agent_id)
        why = sent.reason
        amend_schedule(schedule, actor=self.actor, values=values, read_at=sent.read_at, reason=why)
        return self.answer(schedule.pk, sent.ignored)

    @extend_schema(request=UpdateScheduleBody, responses=ScheduleSerializer)
    def update(self, request: Request, pk: str) -> Response:
        """Replace the row: send every field."""
        return self.partial_update(request, pk)

    approve = decision_action(
        "approve",
        Act.SCHEDULE_APPROVE,
        approve_schedule,
        ScheduleSerializer,
        "Approve a draft: it runs from its next planned time on. People only.",
    )
    pause = decision_action(
        "pause", Act.SCHEDULE_PAUSE, pause_schedule, ScheduleSerializer, "Pause the schedule. People only."
    )
    resume = decision_action(
        "resume",
        Act.SCHEDULE_RESUME,
        resume_schedule,
        ScheduleSerializer,
        "Resume the schedule. Times that passed while it was paused do not count as missed. People only.",
    )
    deprecate = decision_action(
        "deprecate",
        Act.SCHEDULE_DEPRECATE,
        deprecate_schedule,
        ScheduleSerializer,
        "End the schedule permanently. An agent may only withdraw a draft of its own that was never approved.",
    )

    @extend_schema(request=None, responses=ScheduleSerializer)
    @action(detail=True, methods=["post"])
    def run(self, request: Request, pk: str) -> Response:
        """Run the schedule once, now. `runs` shows the result. People only."""
        schedule = self.get_object()
        run_schedule_now(schedule.pk, actor=self.actor)
        return self.answer(schedule.pk)

    @extend_schema(responses=ScheduleRunSerializer(many=True), filters=False)
    @action(detail=True, methods=["get"], pagination_class=None)
    def runs(self, request: Request, pk: str) -> Response:
        """List the latest runs with their results, newest first."""
        return Response(ScheduleRunSerializer(runs_of_schedule(self.get_object()), many=True).data)  # type: ignore[arg-type]  # the stubs know one row alone

    def _find_skill(self, name: str, agent_id: int) -> Skill:
        skill = skill_named(name, agent_id, actor=self.actor)
        if skill is None:
            raise ValidationError({"skill": [f"The agent has no approved skill “{name}”."]})
        return skill
