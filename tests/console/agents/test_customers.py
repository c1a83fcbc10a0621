"""The page of a customer: what there is about them beside the profile."""

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from apps.conversations.models import Conversation
from apps.governance.database.actor_transaction import acting_as
from apps.runtime.models import Turn
from tests.support.drivers.console_client import page_of, page_words
from tests.support.drivers.conversation import CUSTOMER, run_customer_turn
from tests.support.factories.desk import make_escalation, make_waiting_draft
from tests.support.factories.notes import make_note, make_note_of_customer
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.world import World, make_conversation, make_profile, make_world

pytestmark = pytest.mark.django_db


def thread_of(world: World, turn: Turn) -> Conversation:
    with acting_as(world.operator):
        return Conversation.objects.get(pk=turn.conversation_id)


def test_it_gathers_what_there_is_of_them(world: World, operator: Client, standin: StandIn) -> None:
    turn = run_customer_turn(world, "Hello", standin)
    profile = make_profile(world, CUSTOMER)
    page = page_words(operator.get(page_of(profile)))
    assert "Latest conversations http: 1, the latest" in page
    assert "Waits for a person" not in page
    assert "Open notes" not in page
    assert f"Session {turn.session_id}" in page
    assert (
        reverse("admin:session_comparison", args=[turn.session_id]) in operator.get(page_of(profile)).content.decode()
    )
    make_note_of_customer(world, "Call them back on Monday.")
    make_note(world, "Tidy the shelf.")
    make_escalation(world, thread_of(world, turn))
    make_waiting_draft(world, thread_of(world, turn))
    page = page_words(operator.get(page_of(profile)))
    assert "Call them back on Monday." in page
    assert "Tidy the shelf." not in page
    assert "Waits for a person" in page
    assert "The agent does not know" in page
    assert "reply draft" in page


def test_what_is_of_others_is_not_there(world: World, operator: Client) -> None:
    profile = make_profile(world, "http:ada")
    make_conversation(world)
    make_note_of_customer(world, "Somebody else's.")
    make_profile(make_world(), "http:ada")
    page = page_words(operator.get(page_of(profile)))
    assert "No conversation under this key." in page
    assert "Somebody else's." not in page


@pytest.mark.slow
def test_many_of_each_cost_no_more_statements_than_one(world: World, operator: Client, standin: StandIn) -> None:
    profile = make_profile(world, CUSTOMER)

    def grow(at: int) -> None:
        turn = run_customer_turn(world, "Hello", standin, thread=f"thread-{at}")
        make_note_of_customer(world)
        make_escalation(world, thread_of(world, turn))
        make_waiting_draft(world, thread_of(world, turn))

    def cost() -> int:
        with CaptureQueriesContext(connection) as captured:
            assert operator.get(page_of(profile)).status_code == 200
        return len(captured)

    grow(0)
    cost()
    few = cost()
    for at in range(1, 5):
        grow(at)
    assert cost() == few
