"""What a customer writes in one go is answered in one go."""

from datetime import timedelta

import pytest

from apps.conversations.models import InboundEvent
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import Invalid
from apps.launcher.child_processes import wait_until
from apps.llm.model_backend import ModelReply, ModelRequest
from apps.runtime.worker.sync_driver import answer_conversation
from apps.tenants.actions import amend_agent
from apps.tenants.due_work import due_work
from tests.support.drivers.conversation import lines, reply, run_turn, send_customer_message, turn_of
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.world import World, make_world

pytestmark = pytest.mark.django_db

LONG_WAIT = 60
SHORT_WAIT = 1


@pytest.fixture
def world() -> World:
    return make_world()


def wait_for_bursts_of(world: World, seconds: int) -> None:
    amend_agent(world.agent, actor=world.admin, debounce_seconds=seconds)


def is_due(event: InboundEvent) -> bool:
    return (event.tenant_id, event.conversation_id) in due_work("turns")


def is_taken(world: World, event: InboundEvent) -> bool:
    with acting_as(world.system):
        event.refresh_from_db()
    return event.turn_id is not None


def test_a_first_message_waits_for_the_rest_of_its_burst(world: World, standin: StandIn) -> None:
    # R126
    wait_for_bursts_of(world, LONG_WAIT)
    event = send_customer_message(world, "Hello")
    assert event.due_at - event.received_at > timedelta(seconds=LONG_WAIT - 1)
    assert not is_due(event)
    answer_conversation(world.tenant.pk, event.conversation_id, backend=standin.backend)
    assert not is_taken(world, event)


@pytest.mark.slow
def test_a_burst_is_answered_at_once_when_its_first_message_is_due(world: World, standin: StandIn) -> None:
    # R126: whoever types on for minutes is answered too.
    wait_for_bursts_of(world, SHORT_WAIT)
    first = send_customer_message(world, "Hello")
    wait_for_bursts_of(world, LONG_WAIT)
    second = send_customer_message(world, "Where is my order?")
    assert not is_due(first)
    assert wait_until(lambda: is_due(first), 10, 0.1)
    standin.play(reply("On its way."))
    turn = run_turn(world, first, standin.backend)
    assert turn_of(world, second) == turn
    expected_lines = [("customer", "Hello"), ("customer", "Where is my order?"), ("agent", "On its way.")]
    assert lines(world, turn.conversation_id) == expected_lines


class InterruptedModel:
    """A model to which the customer goes on writing."""

    def __init__(self, world: World, standin: StandIn) -> None:
        self.world, self.standin = world, standin
        self.asked = 0

    def complete(self, request: ModelRequest) -> ModelReply:
        self.asked += 1
        send_customer_message(self.world, f"And another thing, number {self.asked}")
        return self.standin.backend.complete(request)


def test_what_arrives_meanwhile_waits_for_the_rest_of_its_own_burst(world: World, standin: StandIn) -> None:
    # R126
    event = send_customer_message(world, "Hello")
    wait_for_bursts_of(world, LONG_WAIT)
    model = InterruptedModel(world, standin)
    run_turn(world, event, model)
    assert model.asked == 1
    assert not is_due(event)


def test_a_colleague_s_instruction_is_due_at_once(world: World) -> None:
    # R141
    wait_for_bursts_of(world, LONG_WAIT)
    event = send_customer_message(World(**{**vars(world), "bot": world.operator}), "Offer a refund.")
    assert event.debounce_seconds == 0
    assert is_due(event)


def test_a_burst_is_waited_for_a_minute_at_most(world: World) -> None:
    wait_for_bursts_of(world, 60)
    with pytest.raises(Invalid, match="60"):
        wait_for_bursts_of(world, 61)
