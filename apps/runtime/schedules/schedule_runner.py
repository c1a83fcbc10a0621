"""Runs due schedules. The run, a new conversation and the agent's task are written in one commit (R119-R123).

The worker that locks the schedule's clock runs the schedule and advances the clock, so a second worker finds nothing due. If a
worker dies before the commit, nothing is stored. If it dies afterwards, the next sweep finds the pending turn like any other.
"""

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from django.db import transaction
from django.db.models.functions import Now

from apps.conversations.actions import open_conversation
from apps.conversations.models import Conversation, InboundEvent
from apps.conversations.rules import EVENT_CHARACTERS, SCHEDULE_CHANNEL
from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import Conflict, GovernanceError, IllegalTransition, NotVisible
from apps.governance.governed_write import authorize
from apps.governance.policy.policy_table import Act
from apps.governance.refusal_log import recording_refusals
from apps.governance.stored_text import content_sha256
from apps.prompt.rendering.scheduled_task import ScheduledTask, render_scheduled_task
from apps.runtime.models import Turn
from apps.runtime.off_the_record_erasure import erase_due_conversations
from apps.runtime.turns.scheduled_run_check import SKILL_NOT_FOUND, approved_skill
from apps.runtime.wakeup import wake_worker_on_commit
from apps.schedules.models import Schedule, ScheduleClock, ScheduleRun
from apps.schedules.rules import DueRun, find_due_run
from apps.skills.models import Skill
from apps.tenants.authentication.actor_resolution import system_actor
from apps.tenants.due_work import due_work_of_kinds

logger = logging.getLogger(__name__)

Result = ScheduleRun.Result


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """A scheduled run that is about to begin."""

    schedule: Schedule
    planned_at: datetime
    missed: int = 0
    requested_by: str = ""


class RunRefused(Exception):
    """The run cannot begin; `code` is the reason in one word."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True)
class DueWork:
    """The due work: (tenant id, conversation id) of each turn, including those just begun by schedules, and (tenant id, id) of
    each webhook delivery."""

    turns: list[tuple[int, int]]
    deliveries: list[tuple[int, int]]


def collect_due_work() -> DueWork:
    """Find all due turns and deliveries, after running due schedules and erasing due conversations."""
    due = due_work_of_kinds("schedule_runs", "turns", "webhook_deliveries", "off_the_record_erasures")
    erase_due_conversations(due["off_the_record_erasures"])
    return DueWork([*run_due_schedules(due["schedule_runs"]), *due["turns"]], due["webhook_deliveries"])


def run_due_schedules(due: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Run these schedules and return the conversations they opened. A failing schedule stays due and does not stop the others."""
    opened = []
    for tenant_id, schedule_id in due:
        try:
            if conversation_id := run_if_due(tenant_id, schedule_id):
                opened.append((tenant_id, conversation_id))
        except Exception as error:  # noqa: BLE001  # the worker's edge
            logger.error("schedule failed", extra={"schedule_id": schedule_id, "error": type(error).__name__})
    return opened


def run_if_due(tenant_id: int, schedule_id: int) -> int | None:
    """Run a schedule if it is due, and return the conversation it opened. None if another worker ran it or no run began."""
    system = system_actor(tenant_id, "worker")
    with acting_as(system):
        clock = _claim_clock(schedule_id, system)
        if clock is None:
            return None
        schedule = clock.schedule
        # Annotated by the query: the database's time, by which the schedule was found due.
        now: datetime = clock.now  # type: ignore[attr-defined]
        due = find_due_run(schedule.cron, schedule.timezone, clock.next_run_at, now, schedule.missed_runs)
        clock.next_run_at = due.next_run_at
        clock.save(update_fields=["next_run_at"])
        if ScheduleRun.objects.filter(schedule=schedule, planned_at=due.latest).exists():
            # A process whose clock is behind the database's has changed the plan.
            return None
        run = (
            _begin_or_refuse(PlannedRun(schedule, due.latest, due.missed), system)
            if due.runs
            else _record_skipped(schedule, due)
        )
    logger.info("schedule came due", extra={"schedule_id": schedule_id, "result": run.result})
    return run.conversation_id


def run_schedule_now(schedule_id: int, *, actor: Actor) -> ScheduleRun:
    """Run an approved or paused schedule once, outside of its planned times. Raises Conflict if the run cannot begin."""
    authorize(actor, Act.SCHEDULE_RUN, actor.tenant_id)
    with recording_refusals(actor, Act.SCHEDULE_RUN), acting_as(actor):
        schedule = Schedule.objects.visible_to(actor).select_related("agent").filter(pk=schedule_id).first()
        if schedule is None:
            raise NotVisible("There is no such schedule.")
        authorize(actor, Act.SCHEDULE_RUN, schedule.tenant_id, agent_id=schedule.agent_id)
        if schedule.status not in {Schedule.Status.APPROVED, Schedule.Status.PAUSED}:
            raise IllegalTransition(
                f"This schedule is {schedule.get_status_display().lower()}. Approve it before it runs."
            )
        system = system_actor(schedule.tenant_id)
        with acting_as(system):
            clock = ScheduleClock.objects.annotate(now=Now()).get(schedule=schedule)
            run = _begin_or_refuse(PlannedRun(schedule, clock.now, requested_by=actor.label), system)
        if run.result == Result.REFUSED:
            raise Conflict(run.reason)
        return run


def _claim_clock(schedule_id: int, system: Actor) -> ScheduleClock | None:
    clocks = ScheduleClock.objects.select_for_update(skip_locked=True, no_key=True, of=("self",))
    approved = Schedule.objects.visible_to(system).approved()
    due = clocks.filter(schedule_id=schedule_id, schedule__in=approved, next_run_at__lte=Now())
    return due.annotate(now=Now()).select_related("schedule__agent").order_by("pk").first()


def _begin_or_refuse(plan: PlannedRun, system: Actor) -> ScheduleRun:
    try:
        with transaction.atomic():
            return _begin_run(plan, system)
    except RunRefused as refusal:
        return _record_run(plan, Result.REFUSED, refusal.code, str(refusal))
    except GovernanceError as refusal:
        return _record_run(plan, Result.REFUSED, refusal.code, str(refusal))


def _begin_run(plan: PlannedRun, system: Actor) -> ScheduleRun:
    schedule = plan.schedule
    skill = approved_skill(schedule, actor=system)
    if skill is None:
        raise RunRefused(
            SKILL_NOT_FOUND, "The skill of this schedule is not approved. Approve it, or choose another one."
        )
    _refuse_if_running(schedule)
    text = _render_task(plan, skill)
    conversation = open_conversation(
        schedule.agent_id,
        actor=system,
        channel=schedule.channel or SCHEDULE_CHANNEL,
        conversation_key=f"schedule-{schedule.pk}-{plan.planned_at:%Y%m%dT%H%M%S.%f}",
        off_the_record=False,
    )
    InboundEvent.objects.create(
        tenant_id=schedule.tenant_id,
        conversation=conversation,
        kind=InboundEvent.Kind.SCHEDULE,
        idempotency_key=f"schedule-{schedule.pk}",
        sent_by=schedule.approved_by,
        text=text,
        text_sha256=content_sha256(text),
    )
    wake_worker_on_commit(schedule.tenant_id, conversation.pk)
    return _record_run(plan, Result.STARTED, conversation=conversation)


def _render_task(plan: PlannedRun, skill: Skill) -> str:
    schedule = plan.schedule
    text = render_scheduled_task(
        ScheduledTask(
            title=schedule.title,
            planned_at=plan.planned_at.astimezone(ZoneInfo(schedule.timezone)),
            skill_title=skill.title,
            skill_body=skill.body,
            instruction=schedule.instruction,
            preamble=schedule.preamble,
        )
    )
    if len(text) > EVENT_CHARACTERS:
        raise RunRefused(
            "task_too_long",
            f"Skill and instruction have {len(text)} characters; a run takes {EVENT_CHARACTERS}. Shorten the skill.",
        )
    return text


def _refuse_if_running(schedule: Schedule) -> None:
    """Refuse a run while the last one has not ended. Runs would repeat work, and hundreds could pile up while a model is down."""
    last = ScheduleRun.objects.filter(schedule=schedule, result=Result.STARTED).first()
    if last is None:
        return
    waits = InboundEvent.objects.filter(conversation=last.conversation_id, turn_id=None).exists()
    if waits or Turn.objects.filter(conversation=last.conversation_id, status=Turn.Status.RUNNING).exists():
        raise RunRefused("still_running", "The run before this one has not ended yet.")


def _record_skipped(schedule: Schedule, due: DueRun) -> ScheduleRun:
    plan = PlannedRun(schedule, due.latest, due.missed)
    return _record_run(
        plan, Result.SKIPPED, "missed", "No worker ran, or the agent was paused, when its time had come."
    )


def _record_run(
    plan: PlannedRun, result: str, code: str = "", reason: str = "", conversation: Conversation | None = None
) -> ScheduleRun:
    return ScheduleRun.objects.create(
        tenant_id=plan.schedule.tenant_id,
        schedule=plan.schedule,
        agent_id=plan.schedule.agent_id,
        planned_at=plan.planned_at,
        result=result,
        code=code,
        reason=reason,
        missed_count=plan.missed,
        requested_by=plan.requested_by,
        conversation=conversation,
    )
