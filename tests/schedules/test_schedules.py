"""Schedules: who plans and who decides, and what PostgreSQL refuses (R123)."""

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest
from django.utils import timezone

from apps.conversations.rules import RESERVED_CHANNELS
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import Conflict, IllegalTransition, Invalid, NotPermitted, Stale
from apps.governance.models import ChangeRecord, Taint
from apps.governance.policy.policy_table import Act
from apps.runtime.models import Turn
from apps.runtime.schedules.schedule_runner import run_if_due, run_schedule_now
from apps.schedules.actions import (
    amend_schedule,
    approve_schedule,
    deprecate_schedule,
    draft_schedule,
    pause_schedule,
    resume_schedule,
)
from apps.schedules.models import Schedule, ScheduleClock, ScheduleRun
from apps.schedules.rules import PRODUCT_CHANNELS, SCHEDULES_PER_AGENT
from apps.tenants.due_work import due_work
from tests.support.database.raw_sql_as_role import run_and_undo
from tests.support.factories.schedules import (
    make_agents_draft,
    make_due,
    make_paused_schedule,
    make_schedule,
    make_schedule_draft,
    plan_of,
)
from tests.support.worlds.world import World, make_skill, make_world

pytestmark = pytest.mark.django_db

DEPRECATE_SCHEDULE = "UPDATE schedules_schedule SET status = 'deprecated' WHERE id = %s"
Result, Status, Outcome = ScheduleRun.Result, Schedule.Status, Turn.Outcome


@pytest.fixture
def world() -> World:
    return make_world()


def run_tick(world: World, schedule: Schedule) -> int | None:
    return run_if_due(world.tenant.pk, schedule.pk)


def next_run_at(schedule: Schedule, world: World) -> datetime:
    with acting_as(world.operator):
        return ScheduleClock.objects.get(schedule=schedule).next_run_at


def test_what_an_agent_plans_waits_for_a_person(world: World) -> None:
    # R123
    row = draft_schedule(world.agent.pk, actor=world.bot, values=plan_of(world), taint=Taint.CUSTOMER)
    assert (row.status, row.drafted_by, row.taint) == (Status.DRAFT, world.bot.label, Taint.CUSTOMER)
    with acting_as(world.operator):
        assert not ScheduleClock.objects.exists()
    for act in (approve_schedule, pause_schedule):
        with pytest.raises(NotPermitted):
            act(row, actor=world.bot)
    with pytest.raises(NotPermitted):
        amend_schedule(row, actor=world.bot, values={"cron": "*/5 * * * *"})
    approve_schedule(row, actor=world.operator, read_at=row.version)
    assert (row.status, row.approved_by) == (Status.APPROVED, world.operator.label)
    assert next_run_at(row, world) > timezone.now()


def test_a_yes_to_another_version_is_refused(world: World) -> None:
    row = make_schedule_draft(world)
    seen = row.version
    amend_schedule(row, actor=world.admin, values={"instruction": "Delete everything."})
    with pytest.raises(Stale):
        approve_schedule(row, actor=world.operator, read_at=seen)


def test_a_schedule_is_paused_resumed_and_deprecated_for_good(world: World) -> None:
    row = make_paused_schedule(world)
    make_due(row, world, timedelta(days=3))
    assert due_work("schedule_runs") == []
    assert run_tick(world, row) is None
    resume_schedule(row, actor=world.operator)
    assert next_run_at(row, world) > timezone.now()
    deprecate_schedule(row, actor=world.operator)
    with pytest.raises(IllegalTransition):
        resume_schedule(row, actor=world.operator)
    with pytest.raises(IllegalTransition, match="deprecated"):
        amend_schedule(row, actor=world.operator, values={"title": "Again"})
    draft_schedule(world.agent.pk, actor=world.operator, values=plan_of(world, key=row.key))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"cron": "every day"}, "five fields"),
        ({"cron": "* * * * *"}, "5 minutes"),
        ({"timezone": "Mars/Olympus"}, "no time zone"),
        ({"channel": "Not a channel"}, "A channel is"),
        ({"key": "Nightly!"}, "lower-case"),
        ({"missed_runs": "all"}, "missed"),
    ],
)
def test_a_plan_that_cannot_be_kept_is_refused_in_words(world: World, values: dict[str, str], message: str) -> None:
    with pytest.raises(Invalid, match=message):
        make_schedule_draft(world, **values)


def test_a_plan_without_a_zone_is_kept_in_the_tenants(world: World) -> None:
    assert make_schedule_draft(world, timezone="").timezone == "UTC"


@pytest.mark.slow
def test_an_agent_has_so_many_schedules_and_is_told_what_to_do_then(world: World) -> None:
    skill = make_skill(world, "approved")
    rows = [make_schedule_draft(world, skill=skill) for _ in range(SCHEDULES_PER_AGENT)]
    with pytest.raises(
        Conflict, match=r"20 schedules already.*Take back a draft of your own first, by withdraw_schedule"
    ):
        draft_schedule(world.agent.pk, actor=world.bot, values=plan_of(world, skill=skill))
    deprecate_schedule(rows[0], actor=world.operator)
    draft_schedule(world.agent.pk, actor=world.bot, values=plan_of(world, skill=skill))
    with pytest.raises(Conflict, match=r"20 schedules.*Deprecate one first"):
        make_schedule_draft(world, skill=skill)


@pytest.mark.slow
def test_an_agent_takes_back_its_own_drafts_and_plans_again(world: World) -> None:
    # R123
    skill = make_skill(world, "approved")
    rows = [make_agents_draft(world, skill=skill) for _ in range(SCHEDULES_PER_AGENT)]
    deprecate_schedule(rows[0], actor=world.bot, reason="Planned twice.")
    assert rows[0].status == Status.DEPRECATED
    with acting_as(world.operator):
        record = ChangeRecord.objects.get(subject_id=rows[0].pk, act=Act.SCHEDULE_DEPRECATE.value)
    assert record.actor_label == world.bot.label
    make_agents_draft(world, skill=skill, key=rows[0].key)


def approved_plan_of_its_own(world: World) -> Schedule:
    return approve_schedule(make_agents_draft(world), actor=world.operator)


@pytest.mark.parametrize("make", [make_schedule_draft, approved_plan_of_its_own], ids=["of-people", "approved"])
def test_an_agent_takes_back_no_other_schedule(world: World, make: Callable[[World], Schedule]) -> None:
    # R123
    row = make(world)
    stood = row.status
    with pytest.raises(NotPermitted, match="only a draft of its own"):
        deprecate_schedule(row, actor=world.bot)
    with acting_as(world.operator):
        assert Schedule.objects.get(pk=row.pk).status == stood
    assert not run_and_undo(world.bot, DEPRECATE_SCHEDULE, (row.pk,)).passed


def test_postgresql_lets_an_agent_take_back_its_own_draft(world: World) -> None:
    row = make_agents_draft(world)
    assert run_and_undo(world.bot, DEPRECATE_SCHEDULE, (row.pk,)).passed
    assert not run_and_undo(make_world().bot, DEPRECATE_SCHEDULE, (row.pk,)).passed


def test_a_key_stands_once_for_an_agent(world: World) -> None:
    row = make_schedule(world)
    with pytest.raises(Conflict, match="with this key"):
        make_schedule_draft(world, key=row.key)


def test_postgresql_lets_no_agent_approve_sign_or_move_a_clock(world: World) -> None:
    row = make_schedule(world)
    draft = draft_schedule(world.agent.pk, actor=world.bot, values=plan_of(world))
    run_schedule_now(row.pk, actor=world.operator)
    for actor, statement, pk in (
        (world.bot, "UPDATE schedules_schedule SET status = 'approved' WHERE id = %s", draft.pk),
        (world.bot, "UPDATE schedules_scheduleclock SET next_run_at = now() WHERE schedule_id = %s", row.pk),
        (world.bot, "DELETE FROM schedules_schedulerun WHERE schedule_id = %s", row.pk),
        (world.system, "UPDATE schedules_schedule SET cron = '*/5 * * * *' WHERE id = %s", row.pk),
        (world.operator, "UPDATE schedules_schedule SET status = 'draft' WHERE id = %s", row.pk),
        (world.operator, "UPDATE schedules_schedulerun SET reason = 'x' WHERE schedule_id = %s", row.pk),
    ):
        assert not run_and_undo(actor, statement, (pk,)).passed, statement
    assert run_and_undo(world.bot, "SELECT 1 FROM schedules_schedulerun WHERE schedule_id = %s", (row.pk,)).passed


@pytest.mark.parametrize("channel", sorted(RESERVED_CHANNELS))
def test_a_schedule_posts_to_no_channel_of_the_product_s_own(world: World, channel: str) -> None:
    assert channel in PRODUCT_CHANNELS
    with pytest.raises(Invalid, match="Name another"):
        make_schedule_draft(world, channel=channel)
    with pytest.raises(Invalid, match="Name another") as refusal:
        amend_schedule(make_schedule(world), actor=world.operator, values={"channel": channel})
    assert list(refusal.value.fields) == ["channel"]
