"""The pages of schedules: what runs next, what came of it, and the decisions on it."""

import pytest
from django.test import Client

from apps.schedules.models import Schedule
from tests.factories import World
from tests.scheduling import make_schedule
from tests.surfaces.console.browsing import decide, list_of, page_of, words_of

pytestmark = pytest.mark.django_db


def test_a_schedule_is_run_now_and_its_runs_are_told(world: World, operator: Client) -> None:
    row = make_schedule(world, channel="slack")
    assert "It has not run yet" in words_of(operator.get(page_of(row)))
    assert decide(operator, row, "run").status_code < 400
    shown = words_of(operator.get(page_of(row)))
    assert "waits for a worker" in shown
    assert "on channel slack" in shown
    listed = words_of(operator.get(list_of(Schedule)))
    assert "waits for a worker" in listed
    assert decide(operator, row, "run").status_code == 409
