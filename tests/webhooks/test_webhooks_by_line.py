"""On a channel of several lines a reply leaves from the one on which the customer wrote (R137)."""

import json

import pytest

from apps.conversations.actions import take_over_conversation
from apps.conversations.models import Conversation
from apps.governance.database.actor_transaction import acting
from apps.runtime.turns.operator_replies import length_of, write_to_customer
from apps.runtime.webhook_delivery.delivery_lease import Answer, note_answer
from tests.support.drivers.conversation import take, tell
from tests.support.servers.standin_model import StandIn
from tests.support.servers.webhook_receiver import due, make_webhook, taken
from tests.support.worlds.world import World, make_world

pytestmark = pytest.mark.django_db
SALES, SERVICE = "+34 600 000 001", "+34 600 000 002"


def told(world: World) -> list[str]:
    """The lines that what waits is to be sent from."""
    found = []
    while due(world):
        parcel = taken(world)
        found.append(json.loads(parcel.body)["reply"]["line"])
        note_answer(parcel, Answer(200))
    return found


def test_a_reply_says_from_which_line_it_is_sent(standin: StandIn) -> None:
    world = make_world()
    make_webhook(world)
    first = tell(world, "Is it in stock?", line_key=SALES)
    take(world, first, standin.backend)
    second = tell(world, "It came broken.", line_key=SERVICE)
    take(world, second, standin.backend)
    # What was said on one line is told as of that line, whatever came in on another since.
    assert told(world) == [SALES, SERVICE]


def test_what_came_in_on_another_line_since_is_of_the_next_reply(standin: StandIn) -> None:
    world = make_world()
    make_webhook(world)
    take(world, tell(world, "Is it in stock?", line_key=SALES), standin.backend)
    tell(world, "It came broken.", line_key=SERVICE)
    assert told(world) == [SALES]


def test_a_person_answers_on_the_line_that_was_written_to_last(standin: StandIn) -> None:
    world = make_world()
    make_webhook(world)
    event = tell(world, "Is it in stock?", line_key=SALES)
    take(world, event, standin.backend)
    tell(world, "It came broken.", line_key=SERVICE)
    with acting(world.operator):
        thread = Conversation.objects.get(pk=event.conversation_id)
        take_over_conversation(thread, actor=world.operator)
        length = length_of(thread)
    write_to_customer(thread, actor=world.operator, text="I am sorry.", seen_length=length)
    assert told(world) == [SALES, SERVICE]
