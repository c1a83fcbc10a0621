"""Several workers find a schedule due at the same moment, and one of them dies: it runs once, and does run."""

from functools import partial

import pytest

from apps.conversations.models import InboundEvent
from apps.governance.database.actor_transaction import acting_as
from apps.runtime.schedules.schedule_runner import run_due_schedules, run_if_due
from apps.schedules.models import Schedule, ScheduleRun
from apps.tenants.due_work import due_work
from tests.desk.test_concurrent_sending import run_together
from tests.support.factories.schedules import make_due, make_schedule
from tests.support.worlds.world import World, make_world


class WorkerKilled(Exception):
    """A worker that was killed."""


def run_until_killed(world: World, schedule: Schedule) -> None:
    """Do all of a run, and do not live to commit it."""
    with acting_as(world.system):
        run_if_due(world.tenant.pk, schedule.pk)
        raise WorkerKilled


def count_started_runs(world: World) -> tuple[int, int]:
    """How many runs there are, and how many tasks wait for the agent."""
    with acting_as(world.system):
        return ScheduleRun.objects.count(), InboundEvent.objects.count()


def test_a_schedule_that_several_workers_find_due_runs_once(committing: str) -> None:
    # R120
    world = make_world()
    schedule = make_schedule(world)
    make_due(schedule, world)
    deeds = [partial(run_if_due, world.tenant.pk, schedule.pk)] * 6
    assert run_together(deeds) == [""] * 6
    assert count_started_runs(world) == (1, 1)
    assert due_work("schedule_runs") == []


def test_a_worker_that_dies_before_its_commit_leaves_the_schedule_due(committing: str) -> None:
    # R120
    world = make_world()
    schedule = make_schedule(world)
    make_due(schedule, world)
    with pytest.raises(WorkerKilled):
        run_until_killed(world, schedule)
    assert count_started_runs(world) == (0, 0)
    assert due_work("schedule_runs") == [(world.tenant.pk, schedule.pk)]
    run_due_schedules(due_work("schedule_runs"))
    assert count_started_runs(world) == (1, 1)
