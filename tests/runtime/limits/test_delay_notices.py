"""The sentence that a customer gets while the day's budget delays the answer: once, by agent and channel, or none."""

from typing import Any

import pytest
from django.core.exceptions import ValidationError

from apps.conversations.models import Message
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import Invalid
from apps.kill_switches.actions import activate_kill_switch
from apps.kill_switches.models import KillSwitch
from apps.runtime.models import Turn
from apps.runtime.worker.sync_driver import answer_conversation
from apps.tenants.actions import amend_agent
from apps.tenants.delay_notices import DEFAULT_DELAY_NOTICE, delay_notice_for, validate_channel_notices
from apps.webhooks.models import Delivery
from tests.support.database.raw_sql_as_role import run_and_undo
from tests.support.drivers.conversation import expire_lease, lines, run_turn, send_customer_message, turn_of
from tests.support.factories.delayed_turns import UncalledModel, delay_turn, set_day_budget, spend_day_budget
from tests.support.servers.standin_model import StandIn
from tests.support.servers.webhook_receiver import make_webhook
from tests.support.worlds.world import World, make_world

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    world = make_world()
    spend_day_budget(world)
    return world


def answer_again(world: World, turn: Turn, standin: StandIn) -> Turn:
    expire_lease(world, turn)
    answer_conversation(world.tenant.pk, turn.conversation_id, backend=standin.backend)
    with acting_as(world.system):
        return Turn.objects.get(pk=turn.pk)


def test_customer_gets_the_sentence_once_and_the_transcript_stays_in_order(world: World, standin: StandIn) -> None:
    event, turn = delay_turn(world, "Where is my parcel?")
    asked = [("customer", "Where is my parcel?"), ("agent", DEFAULT_DELAY_NOTICE)]
    assert lines(world, event.conversation_id) == asked
    expire_lease(world, turn)
    later = send_customer_message(world, "It is urgent.")
    answer_conversation(world.tenant.pk, turn.conversation_id, backend=UncalledModel())
    assert lines(world, event.conversation_id) == asked
    set_day_budget(world, None)
    ended = answer_again(world, turn, standin)
    assert (ended.status, turn_of(world, later).pk) == (Turn.Status.DONE, turn.pk)
    shown = [(sender, text) for sender, text in lines(world, event.conversation_id) if text]
    assert shown[:-1] == [*asked, ("customer", "It is urgent.")]
    assert shown[-1][0] == "agent"
    assert DEFAULT_DELAY_NOTICE in str(standin.requests()[-1])


def test_turn_whose_messages_are_all_in_the_transcript_leaves_its_user_turn_to_the_next(
    world: World, standin: StandIn
) -> None:
    event, turn = delay_turn(world, "Where is my parcel?")
    set_day_budget(world, None)
    assert answer_again(world, turn, standin).status == Turn.Status.DONE
    assert [sender for sender, text in lines(world, event.conversation_id) if text] == ["customer", "agent", "agent"]
    assert run_turn(world, send_customer_message(world, "Thank you."), standin.backend).status == Turn.Status.DONE
    sent = standin.requests()[-1]["messages"]
    assert (sent[0]["role"], sent[1]["role"]) == ("user", "assistant")
    assert "Where is my parcel?" in str(sent[0])


def test_notice_is_delivered_as_a_reply_and_is_of_no_turn(world: World) -> None:
    webhook = make_webhook(world)
    event, turn = delay_turn(world, "Where is my parcel?")
    with acting_as(world.system):
        notice = Message.objects.get(conversation=event.conversation_id, is_reply=True)
        turn.refresh_from_db()
        assert (notice.turn_id, turn.delay_notice_id) == (None, notice.pk)
        delivered = Delivery.objects.filter(webhook=webhook, event="reply")
        assert list(delivered.values_list("subject_id", flat=True)) == [notice.pk]


@pytest.mark.parametrize(
    ("settings", "channel", "expected"),
    [
        ({"delay_notice": "We reply tomorrow."}, "http", ["We reply tomorrow."]),
        ({"delay_notice": ""}, "http", []),
        ({"channel_delay_notices": "sms: Tomorrow.\nvoice:"}, "sms", ["Tomorrow."]),
        ({"channel_delay_notices": "sms: Tomorrow.\nvoice:"}, "voice", []),
        ({"channel_delay_notices": "sms: Tomorrow."}, "http", [DEFAULT_DELAY_NOTICE]),
        ({"send_mode": "suggest"}, "http", [DEFAULT_DELAY_NOTICE]),
        ({"send_mode": "observe"}, "http", []),
    ],
)
def test_sentence_is_chosen_by_agent_and_channel(
    world: World, settings: dict[str, Any], channel: str, expected: list[str]
) -> None:
    amend_agent(world.agent, actor=world.admin, **settings)
    event, _ = delay_turn(world, "Where is my parcel?", channel=channel, customer=f"{channel}:abc123")
    assert [text for sender, text in lines(world, event.conversation_id) if sender == "agent"] == expected


def test_no_sentence_is_sent_while_sending_is_paused(world: World) -> None:
    activate_kill_switch(KillSwitch.Kind.PAUSE_SENDING, actor=world.operator, reason="Check.", agent_id=world.agent.pk)
    event, _ = delay_turn(world, "Where is my parcel?")
    assert lines(world, event.conversation_id) == []


@pytest.mark.parametrize("text", ["Tomorrow.", "sms: a\nsms: b", "SMS: a", f"sms: {'x' * 1_001}"])
def test_channel_sentences_that_nobody_could_read_are_refused(text: str) -> None:
    with pytest.raises(ValidationError):
        validate_channel_notices(text)


def test_agent_is_not_saved_with_a_line_without_a_channel(world: World) -> None:
    with pytest.raises(Invalid, match="channel: sentence"):
        amend_agent(world.agent, actor=world.admin, channel_delay_notices="Tomorrow.")


def test_channel_without_a_line_takes_the_agents_sentence() -> None:
    assert delay_notice_for("http", " Soon. ", "\nsms: Tomorrow.\n") == "Soon."
    validate_channel_notices("sms: Tomorrow.\n\nvoice:")


def test_event_does_not_leave_the_transcript(world: World) -> None:
    event, _ = delay_turn(world, "Where is my parcel?")
    left = "UPDATE conversations_inboundevent SET is_in_transcript = false WHERE id = %s"
    assert run_and_undo(world.system, left, [event.pk]).sqlstate == "23514"
