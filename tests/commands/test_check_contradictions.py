"""Looking at an agent's lines at once, by a command."""

from datetime import date

import pytest

from apps.learning.contradictions.scan_runs import claim_scan
from tests.support.drivers.management_command import run_command
from tests.support.factories.contradictions import make_contradicting_rules
from tests.support.worlds.world import World, make_persona, make_world

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    return make_world()


def test_what_is_open_is_printed_and_a_second_run_finds_nothing_new(world: World) -> None:
    make_contradicting_rules(world)
    make_persona(world, goals="Call `find_parcel` often.")
    named = ("check_contradictions", "--tenant", world.tenant.key, "--agent", world.agent.key)
    seen = run_command(*named)
    assert "Promise a delivery date to every customer" in seen.out
    assert "(find_parcel)" in seen.out
    assert seen.out.endswith("Open: 2. New: 2, reopened: 0, cleared: 0.\n")
    assert seen.err.endswith("pairs of statements compared.\n")
    assert run_command(*named).out.endswith("Open: 2. New: 0, reopened: 0, cleared: 0.\n")


def test_one_looks_at_a_time(world: World) -> None:
    claim_scan(world.agent.pk, date(2026, 1, 2), actor=world.system, at_once=True)
    seen = run_command("check_contradictions", "--tenant", world.tenant.key, "--agent", world.agent.key)
    assert seen.failure.startswith("A worker is scanning this agent right now.")
