"""Health: what people read of workers, of what waits for them, and of what nobody tries any more."""

from datetime import timedelta

import pytest
from django.db import connection
from django.db.models.functions import Now
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from apps.console.dashboard.health import JOB_TITLES, WORK_KINDS
from apps.governance.database.actor_transaction import acting_as
from apps.runtime.health.beat_monitor import beat_intervals, register_beat_tasks
from apps.tenants.due_work import waiting_work
from apps.webhooks.models import Delivery
from tests.support.database.raw_sql_as_role import NO_RIGHT, run_and_undo
from tests.support.drivers.console_client import page_of, page_text, page_words, signed_in
from tests.support.servers.webhook_receiver import make_failed_delivery, make_webhook
from tests.support.worlds.world import World, make_conversation, make_staff, make_world

pytestmark = pytest.mark.django_db


def health() -> str:
    return reverse("admin:health")


def set_last_run(ago: str, task: str = "") -> None:
    """As though workers were last woken so long ago, for one of the beat's alarms or for all."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE runtime_periodictask SET last_run_at = statement_timestamp() - %s::interval WHERE %s IN ('', task)",
            [ago, task],
        )


def make_late_delivery(world: World) -> None:
    """Something a webhook should have been told ten minutes ago."""
    webhook, conversation = make_webhook(world), make_conversation(world)
    with acting_as(world.system):
        Delivery.objects.create(
            tenant_id=world.tenant.pk,
            webhook=webhook,
            conversation=conversation,
            event="resolved",
            subject_id=conversation.pk,
            next_attempt_at=Now() - timedelta(minutes=10),
            lease_until=Now() - timedelta(minutes=10),
        )


@pytest.mark.slow
def test_without_a_broker_the_page_says_so_and_that_nothing_is_lost(operator: Client) -> None:
    shown = page_words(operator.get(health()))
    assert "Somebody should look at this." in shown
    assert "The broker cannot be reached, so nobody knows which workers run." in shown
    assert "nothing is lost" in shown
    assert "Waits longer than it should" not in shown
    assert "No webhook" in shown


@pytest.mark.slow
def test_what_waits_too_long_is_pointed_out_for_this_tenant_alone(world: World, operator: Client) -> None:
    make_late_delivery(make_world())
    assert "longer than it should" not in page_words(operator.get(health()))
    make_late_delivery(world)
    shown = page_words(operator.get(health()))
    assert "Waits longer than it should: Deliveries to webhooks." in shown
    assert "Deliveries to webhooks 1" in shown


@pytest.mark.slow
def test_what_was_given_up_leads_to_where_it_is_sent_again(world: World, operator: Client) -> None:
    hook = make_failed_delivery(world)
    shown = operator.get(health())
    assert "1 delivery to a webhook was given up." in page_words(shown)
    assert f'<a href="{page_of(hook)}">Send again</a>' in page_text(shown)


@pytest.mark.slow
def test_the_page_costs_the_same_however_much_waits(world: World, operator: Client) -> None:
    operator.get(health())
    with CaptureQueriesContext(connection) as few:
        operator.get(health())
    for _ in range(3):
        make_late_delivery(world)
        make_failed_delivery(world)
    with CaptureQueriesContext(connection) as many:
        operator.get(health())
    assert len(many) == len(few)


def test_every_kind_of_work_that_wakes_a_worker_is_told(world: World) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT substring(proname FROM 10) FROM pg_proc WHERE proname LIKE 'list\\_due\\_%'")
        assert {kind for (kind,) in cursor.fetchall()} == set(WORK_KINDS)
    with acting_as(world.operator):
        assert set(waiting_work(*WORK_KINDS)) == set(WORK_KINDS)


@pytest.mark.slow
def test_a_beat_that_was_never_started_is_said(operator: Client) -> None:
    shown = page_words(operator.get(health()))
    assert "The beat was never started, so nothing is swept" in shown
    assert "Learn from decisions every minute never never: no beat was started with it" in shown


@pytest.mark.slow
def test_a_beat_that_rings_is_shown_and_is_no_problem(operator: Client) -> None:
    register_beat_tasks()
    assert "Learn from decisions every minute never in time: waits for its first turn" in page_words(
        operator.get(health())
    )
    set_last_run("0 seconds")
    shown = page_words(operator.get(health()))
    assert "The beat" not in shown
    assert "Overdue" not in shown
    assert "never" not in shown.partition("When the beat woke the house")[2].partition("What waits for a worker")[0]


@pytest.mark.slow
def test_what_the_beat_missed_is_overdue_in_words_and_above_the_rest(operator: Client) -> None:
    register_beat_tasks()
    set_last_run("0 seconds")
    set_last_run("3 hours", "apps.learning.tasks.sweep_lessons")
    shown = page_words(operator.get(health()))
    assert "Overdue by the beat: Learn from decisions." in shown
    assert "overdue for 2 hours" in shown
    set_last_run("2 days")
    shown = page_words(operator.get(health()))
    assert "every sweep is overdue" in shown
    assert "Remove what uploads left behind every day" in shown


def test_every_alarm_of_the_beat_has_words() -> None:
    assert set(JOB_TITLES) == set(beat_intervals())


def test_alarms_are_nobodys_of_a_tenant(world: World) -> None:
    for actor in (world.operator, world.bot, world.system):
        assert run_and_undo(actor, "SELECT * FROM runtime_periodictask").sqlstate == NO_RIGHT


def test_an_agent_is_told_nothing_of_it(world: World) -> None:
    assert run_and_undo(world.bot, "SELECT * FROM count_due_work(ARRAY['turns'])").sqlstate == NO_RIGHT


def test_who_is_not_signed_in_sees_nothing() -> None:
    assert reverse("admin:login") in Client().get(health())["Location"]


def test_platform_staff_are_led_to_where_a_tenant_is_entered() -> None:
    assert signed_in(make_staff("root@platform.example")).get(health())["Location"] == reverse("admin:switch_tenant")
