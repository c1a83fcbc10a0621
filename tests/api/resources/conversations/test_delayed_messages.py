"""By REST and MCP: a message is visible from the moment it is committed, and a delayed reply says why."""

import pytest

from apps.tenants.delay_notices import DEFAULT_DELAY_NOTICE
from tests.support.drivers.conversation import send_customer_message
from tests.support.drivers.rest_client import RestClient
from tests.support.factories.delayed_turns import delay_turn, spend_day_budget
from tests.support.worlds.world import World, make_conversation

pytestmark = pytest.mark.django_db


def test_message_is_in_the_transcript_before_a_turn_takes_it(world: World, operator: RestClient) -> None:
    event = send_customer_message(world, "Where is my parcel?")
    page = operator.get(f"messages/?conversation_id={event.conversation_id}").body
    assert page["results"] == []
    [waiting] = page["waiting"]
    assert (waiting["event_id"], waiting["sender"], waiting["text"]) == (event.pk, "customer", "Where is my parcel?")
    assert operator.get(f"conversations/{event.conversation_id}/").body["length"] == 1


def test_message_of_a_delayed_turn_is_listed_and_its_event_says_why(
    world: World, operator: RestClient, bot: RestClient
) -> None:
    spend_day_budget(world)
    event, _ = delay_turn(world, "Where is my parcel?")
    page = operator.get(f"messages/?conversation_id={event.conversation_id}").body
    shown = [(row["sender"], row["text"]) for row in page["results"]]
    assert shown == [("customer", "Where is my parcel?"), ("agent", DEFAULT_DELAY_NOTICE)]
    assert page["waiting"] == []
    result = bot.get(f"events/{event.pk}/").body
    assert (result["status"], result["delay"]["code"]) == ("delayed", "day_budget_spent")
    assert result["delay"]["notice"] == DEFAULT_DELAY_NOTICE


def test_message_of_a_delayed_turn_is_listed_where_the_customer_gets_no_sentence(
    world: World, admin: RestClient, operator: RestClient
) -> None:
    changed = admin.patch(f"agents/{world.agent.pk}/", {"delay_notice": "", "channel_delay_notices": "sms: Tomorrow."})
    assert (changed.status, changed.body["channel_delay_notices"]) == (200, "sms: Tomorrow.")
    spend_day_budget(world)
    event, _ = delay_turn(world, "Where is my parcel?")
    page = operator.get(f"messages/?conversation_id={event.conversation_id}").body
    assert (page["results"], [row["text"] for row in page["waiting"]]) == ([], ["Where is my parcel?"])
    assert operator.get(f"events/{event.pk}/").body["delay"]["notice"] == ""


def test_only_the_last_page_has_the_waiting_messages(world: World, operator: RestClient) -> None:
    conversation = make_conversation(world)
    send_customer_message(world, "Anything new?", thread=conversation.conversation_key)
    first = operator.get(f"messages/?conversation_id={conversation.pk}&page_size=1").body
    assert (bool(first["next"]), first["waiting"]) == (True, [])
    whole = operator.get(f"messages/?conversation_id={conversation.pk}").body
    assert [row["text"] for row in whole["waiting"]] == ["Anything new?"]


def test_transcript_of_another_tenant_shows_no_waiting_message(other: World, operator: RestClient) -> None:
    event = send_customer_message(other, "Where is my parcel?")
    page = operator.get(f"messages/?conversation_id={event.conversation_id}").body
    assert (page["results"], page["waiting"]) == ([], [])
