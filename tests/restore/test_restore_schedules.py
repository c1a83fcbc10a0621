"""Schedules are brought back as they were planned, and run again only if they ran."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.utils import timezone

from apps.governance.database.actor_transaction import acting_as
from apps.restore.plan import RestorePlan, make_restore_plan
from apps.schedules.actions import (
    amend_schedule,
    approve_schedule,
    deprecate_schedule,
    pause_schedule,
    resume_schedule,
)
from apps.schedules.models import Schedule, ScheduleClock
from tests.restore.restore_scenario import agent_target, get_only_row, plan_lines, restore_target
from tests.support.factories.schedules import make_paused_schedule, make_schedule, make_schedule_draft
from tests.support.worlds.world import World, make_skill, make_world

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    return make_world()


def test_a_plan_changed_and_paused_since_reads_and_runs_as_it_did(world: World) -> None:
    row = make_schedule(world)
    skill, moment = row.skill_id, timezone.now()
    other = make_skill(world, "approved", title="Another one")
    amend_schedule(row, actor=world.operator, values={"cron": "0 5 * * *", "skill": other})
    pause_schedule(row, actor=world.operator)
    restore_target(agent_target(world, moment), world.admin)
    back = get_only_row(world, Schedule)
    assert (back.cron, back.skill_id, back.status) == ("0 23 * * *", skill, "approved")
    with acting_as(world.operator):
        assert ScheduleClock.objects.get(schedule=back).next_run_at > timezone.now() - timedelta(seconds=1)


@pytest.mark.parametrize(
    ("make", "run"), [(make_schedule_draft, approve_schedule), (make_paused_schedule, resume_schedule)]
)
def test_what_did_not_run_then_is_paused(
    world: World, make: Callable[[World], Schedule], run: Callable[..., Schedule]
) -> None:
    row, moment = make(world), timezone.now()
    run(row, actor=world.operator)
    found, _ = restore_target(agent_target(world, moment), world.admin)
    assert plan_lines(found) == [f"schedule.pause Schedule “{row.key}” of agent support: Pause it: it did not run then"]
    assert get_only_row(world, Schedule).status == "paused"


def test_what_was_deprecated_since_stays_so_and_is_named(world: World) -> None:
    row = make_schedule(world)
    moment = timezone.now()
    deprecate_schedule(row, actor=world.operator)
    found: RestorePlan = make_restore_plan(agent_target(world, moment), actor=world.admin)
    assert found.steps == ()
    assert "deprecated since, which is permanent" in found.notes[0].description
