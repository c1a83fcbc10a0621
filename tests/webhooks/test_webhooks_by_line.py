"""On a channel of several lines a reply leaves from the one on which the customer wrote (R137)."""

import json

import pytest

from apps.conversations.actions import take_over_conversation
from apps.conversations.models import Conversation
from apps.governance.database.actor_transaction import acting_as
from apps.runtime.turns.operator_replies import write_to_customer
from apps.runtime.turns.waiting_messages import conversation_length
from apps.runtime.webhook_delivery.delivery_lease import DeliveryResponse, record_response
from tests.support.drivers.conversation import run_turn, send_customer_message
from tests.support.servers.standin_model import StandIn
from tests.support.servers.webhook_receiver import due_deliveries, make_webhook, take_first_delivery
from tests.support.worlds.world import World, make_world

pytestmark = pytest.mark.django_db
SALES, SERVICE = "+34 600 000 001", "+34 600 000 002"


def delivered_lines(world: World) -> list[str]:
    """The lines that what waits is to be sent from."""
    found = []
    while due_deliveries(world):
        request = take_first_delivery(world)
        found.append(json.loads(request.body)["reply"]["line"])
        record_response(request, DeliveryResponse(200))
    return found


def test_a_reply_says_from_which_line_it_is_sent(standin: StandIn) -> None:
    world = make_world()
    make_webhook(world)
    first = send_customer_message(world, "Is it in stock?", line_key=SALES)
    run_turn(world, first, standin.backend)
    second = send_customer_message(world, "It came broken.", line_key=SERVICE)
    run_turn(world, second, standin.backend)
    # What was said on one line is told as of that line, whatever came in on another since.
    assert delivered_lines(world) == [SALES, SERVICE]


def test_what_came_in_on_another_line_since_is_of_the_next_reply(standin: StandIn) -> None:
    world = make_world()
    make_webhook(world)
    run_turn(world, send_customer_message(world, "Is it in stock?", line_key=SALES), standin.backend)
    send_customer_message(world, "It came broken.", line_key=SERVICE)
    assert delivered_lines(world) == [SALES]


def test_a_person_answers_on_the_line_that_was_written_to_last(standin: StandIn) -> None:
    world = make_world()
    make_webhook(world)
    event = send_customer_message(world, "Is it in stock?", line_key=SALES)
    run_turn(world, event, standin.backend)
    send_customer_message(world, "It came broken.", line_key=SERVICE)
    with acting_as(world.operator):
        thread = Conversation.objects.get(pk=event.conversation_id)
        take_over_conversation(thread, actor=world.operator)
        length = conversation_length(thread)
    write_to_customer(thread, actor=world.operator, text="I am sorry.", seen_length=length)
    assert delivered_lines(world) == [SALES, SERVICE]
