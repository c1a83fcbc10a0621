"""What survives a power cut: a killed worker's turn and a message the broker lost are finished once each."""

import json

import pytest
from django.utils import timezone

from apps.conversations.models import InboundEvent, Message
from apps.demo.visitor import Visitor
from apps.governance.acting import acting
from apps.launcher.children import wait_until
from apps.runtime.models import Turn
from tests.factories import World, make_event, make_persona, make_world
from tests.flows.conftest import House, fetched

pytestmark = [pytest.mark.slow, pytest.mark.unmeasured]

FINISHED_SECONDS = 60


@pytest.fixture
def world(house: House) -> World:
    world = make_world()
    make_persona(world)
    return world


def answered(world: World, event: InboundEvent) -> Turn | None:
    with acting(world.system):
        event.refresh_from_db()
        return Turn.objects.filter(pk=event.turn_id or 0, status=Turn.Status.DONE).first()


def post(house: House, world: World) -> InboundEvent:
    """A customer's message through the API."""
    customer = Visitor(house.url, world.token)
    body = {"conversation_key": "a", "end_user_key": "http:abc", "text": "Hello there."}
    taken = customer.send("POST", "/api/v1/messages/", body, Idempotency_Key="one")
    assert taken.status == 202, taken.text
    with acting(world.system):
        return InboundEvent.objects.get(pk=taken.json["event_id"])


def silence(house: House, seconds: int) -> None:
    """The next call of the model waits before it is answered."""
    fetched(f"{house.standin_url}/standin/script", json.dumps([{"fault": "timeout", "seconds": seconds}]).encode())


def asked(house: House) -> int:
    return len(json.loads(fetched(f"{house.standin_url}/standin/requests")))


def test_killed_workers_turn_is_finished_by_another_once(house: House, world: World) -> None:
    silence(house, 30)
    house.start_worker()
    event = make_event(world)
    house.await_ready()
    assert wait_until(lambda: asked(house) == 1, FINISHED_SECONDS, 0.1), "the worker never called the model"
    house.kill("worker")
    house.start_worker()
    house.await_ready()
    assert wait_until(lambda: answered(world, event) is not None, FINISHED_SECONDS, 0.2)
    with acting(world.system):
        turn = Turn.objects.get()
        assert (turn.attempts, turn.fence, turn.crashes) == (2, 2, 1)
        replies = Message.objects.filter(sender=Message.Sender.AGENT).exclude(text="")
        assert [reply.pk for reply in replies] == [turn.reply_id]


def test_message_whose_wake_up_call_was_lost_is_answered_all_the_same(house: House, world: World) -> None:  # R118, R126
    house.start_web()
    house.await_ready()
    event = post(house, world)
    assert house.broker.llen("celery") == 1
    house.broker.flushall()
    assert answered(world, event) is None
    house.start_worker()
    assert wait_until(lambda: answered(world, event) is not None, FINISHED_SECONDS, 0.2)
    with acting(world.system):
        assert Turn.objects.count() == 1


def test_a_worker_that_is_told_to_stop_gives_its_turn_back_at_once(house: House, world: World) -> None:
    silence(house, 30)
    house.env["TURN_DRAIN_SECONDS"] = "1"
    house.start_worker()
    event = make_event(world)
    house.await_ready()
    assert wait_until(lambda: asked(house) == 1, FINISHED_SECONDS, 0.1), "the worker never called the model"
    house.end("worker")
    with acting(world.system):
        turn = Turn.objects.get()
        assert (turn.status, turn.is_released, turn.lease_until <= timezone.now()) == (Turn.Status.RUNNING, True, True)
    house.start_worker()
    assert wait_until(lambda: answered(world, event) is not None, FINISHED_SECONDS, 0.2)
    with acting(world.system):
        turn = Turn.objects.get()
        assert (turn.attempts, turn.crashes) == (2, 0)


def test_message_is_taken_and_answered_while_the_broker_is_away(house: House, world: World) -> None:  # R118
    house.env["REDIS_URL"] = house.env["REDIS_URL"].replace("valkey.sock", "nowhere.sock")
    house.start_web()
    house.await_ready()
    event = post(house, world)
    with acting(world.system):
        assert (event.turn_id, event.text) == (None, "Hello there.")
    house.start_worker()
    assert wait_until(lambda: answered(world, event) is not None, FINISHED_SECONDS, 0.2)
