"""Acts on conversations: threads, what arrives in them, how they end."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from django.db import connections

from apps.conversations.actions import (
    abandon_conversation,
    append_messages,
    import_conversation,
    open_conversation,
    receive_message,
    resolve_conversation,
)
from apps.conversations.models import Conversation, InboundEvent, Message
from apps.conversations.rules import ConversationLine, ToolCall
from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import Conflict, IllegalTransition, Invalid, NotPermitted, NotVisible
from apps.runtime.turn_store.turn_claim import claim_turn
from apps.tenants.actions import create_agent
from apps.tenants.authentication.actor_resolution import agent_actor
from tests.support.drivers.conversation import send_customer_message
from tests.support.worlds.world import World, make_conversation, make_event, make_world

LINES = [
    ConversationLine("customer", "Hi"),
    ConversationLine("agent", "", (ToolCall("c", "look", {"a": 1}, "Found."),)),
]


@pytest.fixture
def world(db: None) -> World:
    return make_world()


def test_messages_of_a_thread_join_its_open_conversation(world: World) -> None:
    # R008, R069
    first, second, third = (
        send_customer_message(world, "One"),
        send_customer_message(world, "Two"),
        send_customer_message(world, "Three", thread="another"),
    )
    assert first.conversation_id == second.conversation_id != third.conversation_id


def test_a_thread_belongs_to_one_agent_and_one_channel(world: World) -> None:
    # R008
    sales = create_agent("sales", "Sales", actor=world.admin)
    bot = agent_actor(world.tenant.pk, sales.pk, sales.service_user_id, "sales")
    support, seller = (
        send_customer_message(world, "Hi"),
        send_customer_message(World(**{**vars(world), "agent": sales, "bot": bot}), "Hi"),
    )
    slack = receive_message(
        world.agent.pk, actor=world.bot, channel="slack", conversation_key="thread", text="Hi", idempotency_key="k"
    )
    assert len({event.conversation_id for event in (support, seller, slack)}) == 3


def test_the_same_key_again_is_the_same_message(world: World) -> None:
    # R126
    first = send_customer_message(world, "Hello", key="k")
    assert send_customer_message(world, "Hello", key="k") == first
    with pytest.raises(Conflict, match="Use a new key for each message"):
        send_customer_message(world, "Something else", key="k")
    assert send_customer_message(world, "Something else", key="l") != first
    assert send_customer_message(world, "Hello", key="k", thread="another") != first


def test_the_same_key_is_known_after_the_conversation_ended(world: World) -> None:
    # R108, R126
    first = send_customer_message(world, "Hello", key="k")
    resolve_conversation(first.conversation, actor=world.bot)
    assert send_customer_message(world, "Hello", key="k") == first
    assert send_customer_message(world, "Hello", key="l").conversation.follows_id == first.conversation_id


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"text": " \n"}, "text"),
        ({"text": "x" * 20_001}, "text"),
        ({"text": "a\x00b"}, "text"),
        ({"text": "\ud800"}, "text"),
        ({"end_user_key": "slack:U1"}, "end_user_key"),
        ({"channel": "Not A Channel", "end_user_key": ""}, "channel"),
        ({"sender_name": "a\x00b"}, "sender_name"),
        ({"conversation_key": "x" * 201}, "conversation_key"),
        ({"idempotency_key": "x" * 201}, "idempotency_key"),
        ({"line_key": "x" * 81}, "line"),
        ({"line_key": "a\x00b"}, "line"),
    ],
)
def test_a_message_that_cannot_be_taken_says_why(world: World, given: dict[str, str], field: str) -> None:
    # R009
    values: dict[str, Any] = {"channel": "http", "conversation_key": "t", "text": "Hello", "end_user_key": "http:1"}
    values |= {"idempotency_key": "k"} | given
    with pytest.raises(Invalid) as refusal:
        receive_message(world.agent.pk, actor=world.bot, **values)
    assert set(refusal.value.fields) == {field}
    with acting_as(world.operator):
        assert not Conversation.objects.visible_to(world.operator).exists()


def test_a_thread_is_nobody_elses(world: World) -> None:
    # R007
    send_customer_message(world, "Hello", customer="http:one")
    with pytest.raises(Invalid, match="This thread belongs to http:one"):
        send_customer_message(world, "Me too", customer="http:two")


def test_an_ended_thread_of_somebody_else_is_not_followed(world: World) -> None:
    # R007
    first = send_customer_message(world, "Hello", customer="http:one").conversation
    resolve_conversation(first, actor=world.bot)
    second = send_customer_message(world, "Hi", customer="http:two").conversation
    assert (second.end_user_key, second.follows_id) == ("http:two", None)


def test_a_known_key_tells_nobody_else_what_it_was_for(world: World) -> None:
    # R007, R126
    send_customer_message(world, "Hello", key="k", customer="http:one")
    with pytest.raises(Invalid, match="This thread belongs to"):
        send_customer_message(world, "Hello", key="k", customer="http:two")


def test_a_persons_words_in_a_thread_are_marked_as_theirs(world: World) -> None:
    event = send_customer_message(world, "Hello")
    operator_event = receive_message(
        world.agent.pk, actor=world.operator, channel="http", conversation_key="thread", text="Hi", idempotency_key="o"
    )
    assert (event.kind, operator_event.kind) == (InboundEvent.Kind.MESSAGE, InboundEvent.Kind.OPERATOR)
    assert operator_event.conversation_id == event.conversation_id


def test_an_agent_ends_its_own_conversations(world: World) -> None:
    # R024, R108
    resolved = resolve_conversation(make_conversation(world), actor=world.bot, outcome=Conversation.Outcome.SOLVED)
    assert (resolved.status, resolved.outcome) == (Conversation.Status.RESOLVED, "solved")
    assert resolved.resolved_at is not None
    abandoned = abandon_conversation(make_conversation(world), actor=world.bot)
    assert (abandoned.status, abandoned.resolved_at) == (Conversation.Status.ABANDONED, None)


def test_an_ended_conversation_is_never_opened_again(world: World) -> None:
    # R108
    for end in (resolve_conversation, abandon_conversation):
        conversation = make_conversation(world)
        end(conversation, actor=world.bot)
        for again in (resolve_conversation, abandon_conversation):
            with pytest.raises(IllegalTransition):
                again(conversation, actor=world.operator)


def test_no_agent_ends_its_neighbours_conversation(world: World) -> None:
    # R014
    sales = create_agent("sales", "Sales", actor=world.admin)
    bot = agent_actor(world.tenant.pk, sales.pk, sales.service_user_id, "sales")
    with pytest.raises(NotVisible):
        resolve_conversation(make_conversation(world), actor=bot)
    with pytest.raises(NotPermitted):
        open_conversation(world.agent.pk, actor=bot, channel="http", conversation_key="t")


def test_a_conversation_follows_the_latest_that_ended(world: World) -> None:
    # R108, as section Z decides it
    first = send_customer_message(world, "One").conversation
    abandon_conversation(first, actor=world.bot)
    second = send_customer_message(world, "Two").conversation
    resolve_conversation(second, actor=world.bot)
    third = send_customer_message(world, "Three").conversation
    assert (first.follows_id, second.follows_id, third.follows_id) == (None, first.pk, second.pk)
    assert send_customer_message(world, "Four", thread="another").conversation.follows_id is None


def test_a_transcript_is_imported_once_as_a_resolved_conversation(world: World) -> None:
    # R112
    def bring(actor: Actor) -> Conversation | None:
        return import_conversation(
            world.agent.pk, actor=actor, transcript_id="t-1", lines=LINES, outcome=Conversation.Outcome.SOLVED
        )

    conversation = bring(world.system)
    assert conversation is not None
    assert (conversation.status, conversation.origin, conversation.taint) == ("resolved", "imported", "import")
    with acting_as(world.operator):
        assert list(Message.objects.values_list("sender", "text")) == [("customer", "Hi"), ("agent", "")]
        assert Message.objects.exclude(tool_calls=[]).get().tool_calls[0]["result"] == "Found."
    assert bring(world.operator) is None
    with pytest.raises(NotPermitted):
        append_messages(conversation, LINES, actor=world.bot)


def test_an_instruction_is_stored_with_who_sent_it_and_a_customers_message_without(world: World) -> None:
    # R140, R141
    events = [
        receive_message(
            world.agent.pk,
            actor=actor,
            channel="http",
            conversation_key="t",
            text="Give 10 % off.",
            idempotency_key=actor.label,
        )
        for actor in (world.bot, world.system, world.operator, world.admin)
    ]
    assert [(event.kind, event.sent_by) for event in events] == [
        ("message", ""),
        ("message", ""),
        ("operator", world.operator.label),
        ("operator", world.admin.label),
    ]


def test_an_event_keeps_the_line_it_came_in_on(world: World) -> None:
    # R133, R187
    assert make_event(world).line_key == ""
    event = make_event(world, line_key="+34 600 000 001")
    assert event.line_key == "+34 600 000 001"
    again = make_event(world, conversation_key=event.conversation.conversation_key, line_key="sales")
    assert (again.conversation_id, again.line_key) == (event.conversation_id, "sales")


def send_together(world: World, texts: list[str]) -> list[InboundEvent | str]:
    """The same key from several workers at the same moment; each answer is an event, or a refusal's code."""
    barrier = Barrier(len(texts))

    def arrive(text: str) -> InboundEvent | str:
        barrier.wait()
        try:
            return send_customer_message(world, text, key="k")
        except Conflict as refusal:
            return refusal.code
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(texts)) as pool:
        return list(pool.map(arrive, texts))


def test_one_key_sent_at_once_by_many_is_one_message(committing: str) -> None:
    # R126
    world = make_world()
    arrived = send_together(world, ["Hello"] * 4)
    assert len({event.pk for event in arrived if isinstance(event, InboundEvent)}) == 1
    with acting_as(world.operator):
        assert InboundEvent.objects.count() == 1
        assert Conversation.objects.visible_to(world.operator).count() == 1


def test_one_key_with_other_words_at_once_is_one_message_and_refusals(committing: str) -> None:
    # R126
    world = make_world()
    arrived = send_together(world, ["A", "B", "C"])
    assert sorted(str(type(one).__name__) for one in arrived) == ["InboundEvent", "str", "str"]


def test_workers_that_come_at_once_take_a_turn_once(committing: str) -> None:
    # R126
    world = make_world()
    event = send_customer_message(world, "Hello")
    barrier = Barrier(4)

    def work(_: int) -> bool:
        barrier.wait()
        try:
            return claim_turn(event.conversation_id, actor=world.system) is not None
        finally:
            connections.close_all()

    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(work, range(4))) == [False, False, False, True]
