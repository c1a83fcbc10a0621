"""What survives a power cut: a killed worker's turn and a message the broker lost are finished once each."""

import json

import pytest
from django.utils import timezone

from apps.conversations.models import InboundEvent, Message
from apps.demo.http_client import HttpVisitor
from apps.governance.database.actor_transaction import acting_as
from apps.launcher.child_processes import wait_until
from apps.runtime.models import Turn
from tests.support.servers.running_product import RunningProduct, fetch
from tests.support.timeouts import PATIENCE_SECONDS
from tests.support.worlds.world import World, make_event, make_persona, make_world

pytestmark = [pytest.mark.slow, pytest.mark.unmeasured]


def make_answered_world() -> World:
    """A tenant whose agent has a persona."""
    world = make_world()
    make_persona(world)
    return world


def finished_turn(world: World, event: InboundEvent) -> Turn | None:
    with acting_as(world.system):
        event.refresh_from_db()
        return Turn.objects.filter(pk=event.turn_id or 0, status=Turn.Status.DONE).first()


def post(product: RunningProduct, world: World, key: str = "one") -> InboundEvent:
    """A customer's message through the API."""
    customer = HttpVisitor(product.url, world.token)
    body = {"conversation_key": "a", "end_user_key": "http:abc", "text": "Hello there."}
    taken = customer.send("POST", "/api/v1/messages/", body, Idempotency_Key=key)
    # 200 if a worker answered before the response was sent.
    assert taken.status in {200, 202}, taken.text
    with acting_as(world.system):
        return InboundEvent.objects.get(pk=taken.json["event_id"])


def stall_next_call(product: RunningProduct, seconds: int) -> None:
    """The next call of the model waits before it is answered."""
    fetch(f"{product.standin_url}/standin/script", json.dumps([{"fault": "timeout", "seconds": seconds}]).encode())


def count_requests(product: RunningProduct) -> int:
    return len(json.loads(fetch(f"{product.standin_url}/standin/requests")))


def wait_until_finished(world: World, *events: InboundEvent) -> bool:
    return wait_until(lambda: all(finished_turn(world, event) for event in events), PATIENCE_SECONDS, 0.2)


def wait_for_requests(product: RunningProduct, times: int) -> bool:
    return wait_until(lambda: count_requests(product) == times, PATIENCE_SECONDS, 0.1)


def test_what_a_killed_worker_a_stopped_one_and_the_broker_leave_is_finished_once(product: RunningProduct) -> None:
    # R118, R126
    world = make_answered_world()
    stall_next_call(product, 30)
    first = make_event(world)
    assert wait_for_requests(product, 1), "the worker never called the model"
    product.kill("worker")
    product.start_worker()
    product.await_ready()
    assert wait_until_finished(world, first)
    with acting_as(world.system):
        turn = Turn.objects.get()
        assert (turn.attempts, turn.fence, turn.crashes) == (2, 2, 1)
        replies = Message.objects.filter(sender=Message.Sender.AGENT).exclude(text="")
        assert [reply.pk for reply in replies] == [turn.reply_id]
    second = _stop_during_turn(product, world)
    # Nobody works, and the wake-up call is lost.
    third = post(product, world)
    assert product.broker.llen("celery") >= 1
    product.broker.flushall()
    assert finished_turn(world, third) is None
    product.start_worker()
    assert wait_until_finished(world, second, third)
    with acting_as(world.system):
        turn = Turn.objects.get(pk=second.turn_id or 0)
        assert (turn.attempts, turn.crashes) == (2, 0)
        assert Turn.objects.count() == 3


def _stop_during_turn(product: RunningProduct, world: World) -> InboundEvent:
    stall_next_call(product, 30)
    calls = count_requests(product)
    event = make_event(world, conversation_key="b")
    assert wait_for_requests(product, calls + 1), "the worker never called the model"
    product.end("worker")
    with acting_as(world.system):
        turn = Turn.objects.latest("id")
        assert (turn.status, turn.is_released, turn.lease_until <= timezone.now()) == (Turn.Status.RUNNING, True, True)
    return event


def test_message_is_taken_and_answered_while_the_broker_is_away(own_product: RunningProduct) -> None:  # R118
    world = make_answered_world()
    own_product.env["REDIS_URL"] = own_product.env["REDIS_URL"].replace("valkey.sock", "nowhere.sock")
    own_product.start_web()
    own_product.await_ready()
    event = post(own_product, world)
    with acting_as(world.system):
        assert (event.turn_id, event.text) == (None, "Hello there.")
    own_product.start_worker()
    assert wait_until(lambda: finished_turn(world, event) is not None, PATIENCE_SECONDS, 0.2)
