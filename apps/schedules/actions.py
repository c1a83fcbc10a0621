"""Actions on schedules. A schedule is a draft until a person with permission approves it."""

from collections.abc import Mapping
from typing import Any

from django.utils import timezone

from apps.governance.actors import Actor, Role
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import Conflict, IllegalTransition, Invalid, NotPermitted
from apps.governance.governed_write import assign_values, governed
from apps.governance.models import Taint
from apps.governance.policy.policy_table import Act
from apps.governance.refusal_log import RefusalSubject, recording_refusals
from apps.prompt.builtin_tools import WITHDRAW_SCHEDULE
from apps.schedules.models import Schedule, ScheduleClock
from apps.schedules.rules import PRODUCT_CHANNELS, SCHEDULES_PER_AGENT, next_time
from apps.tenants.agent_flavours import refuse_assistant
from apps.tenants.models import TenantSettings

DEPRECATE_FIRST = "Deprecate one first"
# An agent without schedule tools can still withdraw a draft over REST.
WITHDRAW_FIRST = (
    f"Take back a draft of your own first, by {WITHDRAW_SCHEDULE} or by REST with deprecate; ask an operator to deprecate"
    " what is approved"
)


def draft_schedule(
    agent_id: int,
    *,
    actor: Actor,
    values: Mapping[str, Any],
    evidence: Mapping[str, Any] | None = None,
    taint: Taint | None = None,
) -> Schedule:
    """Draft a schedule. Nothing runs before a person has approved it."""
    refuse_assistant(agent_id, actor=actor)
    schedule = Schedule(
        tenant_id=actor.tenant_id,
        agent_id=agent_id,
        drafted_by=actor.label,
        taint=taint or (Taint.OPERATOR if actor.is_person else Taint.AGENT),
    )
    with acting_as(actor), governed(Act.SCHEDULE_DRAFT, schedule, actor=actor, evidence=evidence) as row:
        _refuse_over_limit(agent_id, actor)
        _refuse_product_channel(values)
        assign_values(row, Act.SCHEDULE_DRAFT, values)
        row.timezone = row.timezone or _timezone_of(actor)
    return schedule


def amend_schedule(
    schedule: Schedule, *, actor: Actor, values: Mapping[str, Any], read_at: int | None = None, reason: str = ""
) -> Schedule:
    """Change a schedule from now on. An approved schedule stays approved, now by the person who changed it."""
    with acting_as(actor):
        with governed(Act.SCHEDULE_AMEND, schedule, actor=actor, read_at=read_at, reason=reason) as row:
            if row.status == Schedule.Status.DEPRECATED:
                raise IllegalTransition("This schedule is deprecated and runs no more. Plan another one.")
            _refuse_product_channel(values)
            assign_values(row, Act.SCHEDULE_AMEND, values)
            row.timezone = row.timezone or _timezone_of(actor)
            if row.status != Schedule.Status.DRAFT:
                _record_approver(row, actor)
        _set_next_run(schedule)
    return schedule


def approve_schedule(schedule: Schedule, *, actor: Actor, read_at: int | None = None, reason: str = "") -> Schedule:
    """Approve a schedule: it runs from its next planned time on."""
    with acting_as(actor):
        with governed(Act.SCHEDULE_APPROVE, schedule, actor=actor, read_at=read_at, reason=reason) as row:
            row.approve()
            _record_approver(row, actor)
        _set_next_run(schedule)
    return schedule


def pause_schedule(schedule: Schedule, *, actor: Actor, read_at: int | None = None, reason: str = "") -> Schedule:
    """Pause a schedule. A run that has begun goes on to its end."""
    with governed(Act.SCHEDULE_PAUSE, schedule, actor=actor, read_at=read_at, reason=reason) as row:
        row.pause()
    return schedule


def resume_schedule(schedule: Schedule, *, actor: Actor, read_at: int | None = None, reason: str = "") -> Schedule:
    """Resume a schedule from its next planned time on. Times that passed while it was paused do not count as missed."""
    with acting_as(actor):
        with governed(Act.SCHEDULE_RESUME, schedule, actor=actor, read_at=read_at, reason=reason) as row:
            row.resume()
            _record_approver(row, actor)
        _set_next_run(schedule)
    return schedule


def deprecate_schedule(schedule: Schedule, *, actor: Actor, read_at: int | None = None, reason: str = "") -> Schedule:
    """End a schedule permanently, or reject a draft. Its runs stay readable. An agent may only withdraw its own drafts."""
    _refuse_unless_own_draft(schedule, actor)
    with governed(Act.SCHEDULE_DEPRECATE, schedule, actor=actor, read_at=read_at, reason=reason) as row:
        row.deprecate()
    return schedule


def _set_next_run(schedule: Schedule) -> None:
    """Set the next run to the first planned time after now."""
    if schedule.status == Schedule.Status.DRAFT:
        return
    ScheduleClock.objects.update_or_create(
        tenant_id=schedule.tenant_id,
        schedule=schedule,
        defaults={"next_run_at": next_time(schedule.cron, schedule.timezone, timezone.now())},
    )


def _record_approver(row: Schedule, actor: Actor) -> None:
    row.approved_by, row.approved_at = actor.label, timezone.now()


def _refuse_product_channel(values: Mapping[str, Any]) -> None:
    if (channel := values.get("channel")) in PRODUCT_CHANNELS:
        flaw = f"Nobody reads what is posted to {channel}, a channel of the product's own. Name another, or none."
        raise Invalid(flaw, {"channel": [flaw]})


def _refuse_unless_own_draft(schedule: Schedule, actor: Actor) -> None:
    # Checked before the governed write, because the database would already refuse the row lock.
    own_draft = schedule.status == Schedule.Status.DRAFT and schedule.drafted_by == actor.label
    if actor.role is not Role.AGENT or own_draft:
        return
    with recording_refusals(actor, Act.SCHEDULE_DEPRECATE, RefusalSubject.of(schedule)):
        raise NotPermitted(
            "An agent takes back only a draft of its own that nobody approved. Ask an operator to deprecate this schedule."
        )


def _refuse_over_limit(agent_id: int, actor: Actor) -> None:
    if Schedule.objects.visible_to(actor).standing().for_agent(agent_id).count() >= SCHEDULES_PER_AGENT:
        raise Conflict(
            f"This agent has {SCHEDULES_PER_AGENT} schedules already, which is as many as it may have."
            f" {WITHDRAW_FIRST if actor.role is Role.AGENT else DEPRECATE_FIRST}, or do more in one of them."
        )


def _timezone_of(actor: Actor) -> str:
    return TenantSettings.objects.visible_to(actor).values_list("timezone", flat=True).first() or "UTC"
