"""The pages of schedules: what runs next, what came of it, and the decisions on it."""

import pytest
from django.test import Client
from django.urls import reverse

from apps.governance.database.actor_transaction import acting_as
from apps.schedules.models import Schedule
from tests.support.drivers.console_client import decide, list_of, page_of, page_words, save_form
from tests.support.factories.schedules import make_schedule
from tests.support.worlds.world import World, make_skill

pytestmark = pytest.mark.django_db


@pytest.mark.slow
def test_a_schedule_is_run_now_and_its_runs_are_told(world: World, operator: Client) -> None:
    row = make_schedule(world, channel="slack")
    assert "It has not run yet" in page_words(operator.get(page_of(row)))
    assert decide(operator, row, "run").status_code < 400
    shown = page_words(operator.get(page_of(row)))
    assert "waits for a worker" in shown
    assert "on channel slack" in shown
    listed = page_words(operator.get(list_of(Schedule)))
    assert "waits for a worker" in listed
    assert decide(operator, row, "run").status_code == 409


@pytest.mark.slow
def test_a_time_zone_left_empty_is_the_tenants(world: World, admin: Client) -> None:
    skill = make_skill(world, "approved")
    page = reverse("admin:schedules_schedule_add")
    typed = {"agent": world.agent.pk, "key": "nightly", "title": "T", "cron": "0 5 * * *", "skill": skill.pk}
    assert "There is no time zone Berlin" in page_words(save_form(admin, page, **typed, timezone="Berlin"))
    assert save_form(admin, page, **typed, timezone="").status_code == 302
    with acting_as(world.operator):
        row = Schedule.objects.visible_to(world.operator).get()
    assert row.timezone == "UTC"
    assert save_form(admin, page_of(row), timezone="").status_code == 302
