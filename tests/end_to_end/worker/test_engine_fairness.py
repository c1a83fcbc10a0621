"""How one worker shares itself among those who wait."""

import json
import time
from collections.abc import Iterator
from urllib.request import Request, urlopen

import psycopg
import pytest

from apps.conversations.models import InboundEvent, Message
from apps.governance.database.actor_transaction import acting_as
from apps.launcher.child_processes import wait_until
from apps.launcher.postgres import Postgres
from apps.llm.anthropic.async_client import async_backend_at
from apps.runtime.models import Turn
from apps.runtime.worker.engine import Engine, EngineLimits
from apps.schedules.models import ScheduleRun
from apps.standin.thread_server import run_standin_thread
from apps.tenants.actions import amend_agent
from tests.support.factories.schedules import make_due, make_schedule
from tests.support.worlds.world import World, make_event, make_persona, make_world

pytestmark = [pytest.mark.slow, pytest.mark.unmeasured]

FLOOD = 6
FINISHED_SECONDS = 60
SETTLED_SECONDS = 1.0


@pytest.fixture
def engine(database: str) -> Iterator[Engine]:  # it asks what is due there
    """With one thread for turns that begin, looking for what is due once and never again."""
    limits = EngineLimits(in_flight=20, threads=2, poll_seconds=FINISHED_SECONDS, lease_seconds=30)
    with run_standin_thread() as url:
        engine = Engine(lambda: async_backend_at("stand-in", url, connections=20), limits)
        yield engine
        engine.stop(drain_seconds=5)


def test_without_a_model_turns_wait_and_say_why(database: str) -> None:
    # R131
    limits = EngineLimits(in_flight=5, threads=2, poll_seconds=0.2, lease_seconds=30)
    engine = Engine(lambda: async_backend_at("", "", connections=5), limits)
    world = make_world()
    event = make_customer(world, 1)
    engine.start()
    try:
        assert wait_until(lambda: failure_of(world, event) == "not_authorised", FINISHED_SECONDS, 0.2)
    finally:
        engine.stop(drain_seconds=1)


def failure_of(world: World, event: InboundEvent) -> str:
    with acting_as(world.system):
        event.refresh_from_db()
        turn = Turn.objects.filter(pk=event.turn_id or 0).first()
        return turn.failure_code if turn else ""


def make_customer(world: World, number: int) -> InboundEvent:
    return make_event(world, conversation_key=f"thread-{number}", idempotency_key=f"{number}")


def turn_of(world: World, event: InboundEvent) -> Turn | None:
    with acting_as(world.system):
        event.refresh_from_db()
        return Turn.objects.filter(pk=event.turn_id or 0, status=Turn.Status.DONE).first()


def test_newcomer_of_another_tenant_goes_before_a_flood_that_is_being_taken(
    engine: Engine, postgres: Postgres, database: str
) -> None:
    flooding, other = make_world(), make_world()
    for world in (flooding, other):
        make_persona(world)
    flood = [make_customer(flooding, number) for number in range(FLOOD)]
    with psycopg.connect(postgres.url_for("postgres", database=database)) as raw:
        # Nobody takes a turn until this is let go.
        raw.execute("LOCK TABLE runtime_turn IN SHARE MODE")
        engine.start()
        assert wait_until(lambda: has_lock_waiter(raw), FINISHED_SECONDS, 0.1)
        time.sleep(SETTLED_SECONDS)
        newcomer = make_customer(other, 1)
        engine.wake(other.tenant.pk, newcomer.conversation_id)
        time.sleep(SETTLED_SECONDS)
    everybody = [(flooding, event) for event in flood] + [(other, newcomer)]
    assert wait_until(lambda: all(turn_of(*each) for each in everybody), FINISHED_SECONDS, 0.2)
    came = [turn.started_at for each in everybody if (turn := turn_of(*each))]
    assert sorted(came).index(came[-1]) == 1


def has_lock_waiter(raw: psycopg.Connection) -> bool:
    """Whether somebody waits for what is locked here."""
    return raw.execute("SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted)").fetchone() == (True,)


def assert_overtakes_flood(
    engine: Engine, other: World, flooding: World, flood: list[InboundEvent], raw: psycopg.Connection
) -> None:
    """Somebody else's customer is answered before any of the flood, which is answered once its tenant is let go."""
    newcomer = make_customer(other, 1)
    engine.wake(other.tenant.pk, newcomer.conversation_id)
    assert wait_until(lambda: turn_of(other, newcomer) is not None, FINISHED_SECONDS, 0.2)
    assert [event for event in flood if turn_of(flooding, event)] == []
    raw.rollback()
    assert wait_until(lambda: all(turn_of(flooding, event) for event in flood), FINISHED_SECONDS, 0.2)


def test_a_tenant_whose_turns_begin_slowly_keeps_no_other_from_beginning(postgres: Postgres, database: str) -> None:
    flooding, other = make_world(), make_world()
    for world in (flooding, other):
        make_persona(world)
    flood = [make_customer(flooding, number) for number in range(FLOOD)]
    limits = EngineLimits(in_flight=20, threads=4, poll_seconds=FINISHED_SECONDS, lease_seconds=30)
    with run_standin_thread() as url, psycopg.connect(postgres.url_for("postgres", database=database)) as raw:
        engine = Engine(lambda: async_backend_at("stand-in", url, connections=20), limits)
        # Whatever refers to the one tenant is not written until this is let go.
        raw.execute("SELECT FROM tenants_tenant WHERE id = %s FOR UPDATE", [flooding.tenant.pk])
        engine.start()
        try:
            assert wait_until(lambda: has_lock_waiter(raw), FINISHED_SECONDS, 0.1)
            time.sleep(SETTLED_SECONDS)
            assert_overtakes_flood(engine, other, flooding, flood, raw)
        finally:
            raw.rollback()
            engine.stop(drain_seconds=5)


def test_a_flood_of_answers_that_are_kept_slowly_keeps_no_other_tenant_waiting(
    postgres: Postgres, database: str
) -> None:
    flooding, other = make_world(), make_world()
    for world in (flooding, other):
        make_persona(world)
    flood = [make_customer(flooding, number) for number in range(FLOOD)]
    limits = EngineLimits(in_flight=20, threads=4, poll_seconds=FINISHED_SECONDS, lease_seconds=30)
    with run_standin_thread() as url, psycopg.connect(postgres.url_for("postgres", database=database)) as raw:
        slow_down(url, 5 * SETTLED_SECONDS)
        engine = Engine(lambda: async_backend_at("stand-in", url, connections=20), limits)
        engine.start()
        try:
            assert wait_until(lambda: count_requests(url) == FLOOD, FINISHED_SECONDS, 0.1)
            # Whatever refers to the one tenant is not written until this is let go.
            raw.execute("SELECT FROM tenants_tenant WHERE id = %s FOR UPDATE", [flooding.tenant.pk])
            slow_down(url, 0)
            assert wait_until(lambda: has_lock_waiter(raw), FINISHED_SECONDS, 0.1)
            time.sleep(SETTLED_SECONDS)
            assert_overtakes_flood(engine, other, flooding, flood, raw)
        finally:
            raw.rollback()
            engine.stop(drain_seconds=5)


def test_a_wake_up_call_comes_when_it_is_due(engine: Engine) -> None:
    # R126
    world = make_world()
    make_persona(world)
    engine.start()
    time.sleep(SETTLED_SECONDS)
    event = make_customer(world, 1)
    engine.wake(world.tenant.pk, event.conversation_id, in_seconds=4)
    time.sleep(SETTLED_SECONDS)
    assert turn_of(world, event) is None
    assert wait_until(lambda: turn_of(world, event) is not None, FINISHED_SECONDS, 0.2)


def test_a_call_is_broken_off_when_the_customer_goes_on_writing(database: str) -> None:
    # R126
    world = make_world()
    make_persona(world)
    amend_agent(world.agent, actor=world.admin, mid_turn_message_mode="restart")
    limits = EngineLimits(in_flight=5, threads=2, poll_seconds=FINISHED_SECONDS, lease_seconds=30)
    with run_standin_thread() as url:
        slow_down(url, FINISHED_SECONDS)
        engine = Engine(lambda: async_backend_at("stand-in", url, connections=5), limits)
        first = make_customer(world, 1)
        engine.start()
        try:
            assert wait_until(lambda: count_requests(url) == 1, FINISHED_SECONDS, 0.1)
            second = make_event(world, conversation_key="thread-1", idempotency_key="more", text="One more thing")
            assert wait_until(lambda: count_requests(url) == 2, FINISHED_SECONDS / 2, 0.1)
            slow_down(url, 0)
            assert wait_until(lambda: turn_of(world, first) is not None, FINISHED_SECONDS, 0.1)
        finally:
            engine.stop(drain_seconds=1)
    turn = turn_of(world, second)
    assert turn is not None
    assert turn == turn_of(world, first)
    assert turn.round == 2


def test_a_schedule_that_comes_due_is_run_by_one_of_two_workers_and_posts_once(database: str) -> None:
    # R119, R120, R122
    world = make_world()
    make_persona(world)
    row = make_schedule(world, channel="slack")
    make_due(row, world)
    limits = EngineLimits(in_flight=5, threads=2, poll_seconds=0.1, lease_seconds=30)
    with run_standin_thread() as url:
        workers = [Engine(lambda: async_backend_at("stand-in", url, connections=5), limits) for _ in range(2)]
        for worker in workers:
            worker.start()
        try:
            assert wait_until(lambda: count_replies(world) == 1, FINISHED_SECONDS, 0.1)
            # Both look once more.
            time.sleep(SETTLED_SECONDS)
        finally:
            for worker in workers:
                worker.stop(drain_seconds=5)
    with acting_as(world.system):
        assert Turn.objects.count() == 1
        assert ScheduleRun.objects.get().result == ScheduleRun.Result.STARTED
        assert Message.objects.filter(is_reply=True).count() == 1


def count_replies(world: World) -> int:
    with acting_as(world.system):
        return Turn.objects.filter(outcome=Turn.Outcome.REPLIED).count()


def slow_down(url: str, seconds: float) -> None:
    body = json.dumps({"seconds": seconds}).encode()
    urlopen(Request(f"{url}/standin/delay", data=body, method="POST")).close()  # noqa: S310  # loopback


def count_requests(url: str) -> int:
    with urlopen(f"{url}/standin/requests") as shown:  # noqa: S310  # loopback
        return len(json.loads(shown.read()))
