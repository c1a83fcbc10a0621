"""A member's talk with an assistant (R129): who may begin it, who reads it, and what is never made of it."""

from collections.abc import Callable

import psycopg
import pytest
from django.db import connection, transaction
from django.db.utils import DatabaseError

from apps.conversations.actions import (
    abandon_conversation,
    import_conversation,
    receive_message,
    resolve_conversation,
    send_message,
    take_over_conversation,
)
from apps.conversations.member_talks import send_talk_message
from apps.conversations.models import Conversation, InboundEvent, Message
from apps.desk.actions import open_escalation
from apps.desk.models import Escalation
from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import GovernanceError, IllegalTransition, Invalid, NotPermitted, NotVisible
from apps.governance.models.base import governed_write_open
from apps.schedules.actions import draft_schedule
from apps.tenants.actions import allow_invokable, amend_agent, deactivate_member
from apps.tenants.authentication.actor_resolution import member_via_assistant
from tests.support.factories.member_talks import (
    make_assistant,
    make_member_overlay,
    make_talk,
    message_assistant,
    turn_into_assistant,
)
from tests.support.worlds.world import World, make_member, make_world

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    return turn_into_assistant(make_world())


def test_a_member_begins_a_talk_and_it_is_theirs_for_life(world: World) -> None:
    # R129
    talk = make_talk(world)
    assert (talk.channel, talk.member_user_id, talk.end_user_key) == ("console", world.operator_user.pk, "")
    event = message_assistant(talk, "What waits for me?", world.operator)
    assert (event.kind, event.sent_by) == (InboundEvent.Kind.OPERATOR, world.operator.label)
    abandon_conversation(talk, actor=world.operator)
    with pytest.raises(IllegalTransition, match="You closed this talk"):
        message_assistant(talk, "One more thing", world.operator)


def test_the_same_message_of_a_talk_arrives_once(world: World) -> None:
    talk = make_talk(world)
    first = send_talk_message(talk, actor=world.operator, text="Hello", idempotency_key="a")
    assert send_talk_message(talk, actor=world.operator, text="Hello", idempotency_key="a") == first
    with pytest.raises(GovernanceError, match="used for another message"):
        send_talk_message(talk, actor=world.operator, text="Other", idempotency_key="a")


def test_nobody_but_its_member_finds_a_talk(world: World) -> None:
    talk = make_talk(world)
    message_assistant(talk, "Keep this between us", world.operator)
    seeing = {
        "member": (world.operator, 1),
        "colleague": (world.admin, 0),
        "token": (world.bot, 0),
        "its turn": (world.bot.for_member(world.operator_user.pk), 1),
        "another's turn": (world.bot.for_member(world.admin_user.pk), 0),
    }
    for actor, number in seeing.values():
        with acting_as(actor):
            assert Conversation.objects.visible_to(actor).count() == number
            # Row security, without the product's own filter.
            assert InboundEvent.objects.count() == number
    with pytest.raises(NotVisible):
        message_assistant(talk, "I am not who you think", world.admin)


@pytest.mark.parametrize(
    "table", ["conversations_conversation", "conversations_message", "runtime_turn", "runtime_session"]
)
def test_row_security_binds_what_hangs_on_a_talk_to_its_member(world: World, table: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT polname FROM pg_policy WHERE polrelid = %s::regclass", [table])
        assert (f"{table}_talk",) in cursor.fetchall()


def test_who_comes_to_an_assistant_as_a_customer_is_refused(world: World) -> None:
    with pytest.raises(Invalid, match="is an assistant, which only members can talk with"):
        receive_message(
            world.agent.pk,
            actor=world.bot,
            channel="http",
            conversation_key="thread",
            text="Hello",
            idempotency_key="a",
        )
    with pytest.raises(Invalid, match="is an assistant"):
        import_conversation(
            world.agent.pk, actor=world.operator, transcript_id="t", lines=(), outcome=Conversation.Outcome.UNKNOWN
        )


def test_an_agent_for_customers_holds_no_talk() -> None:
    world = make_world()
    with pytest.raises(Invalid, match="Choose an assistant"):
        make_talk(world)
    with pytest.raises(Invalid, match="The channel console is reserved for"):
        receive_message(
            world.agent.pk, actor=world.bot, channel="console", conversation_key="t", text="Hi", idempotency_key="a"
        )


def test_an_agent_keeps_its_flavour_once_somebody_has_talked_with_it(world: World) -> None:
    make_talk(world)
    with pytest.raises(IllegalTransition, match="has conversations already"):
        # The admin sees no talk of the operator's; the database counts it.
        amend_agent(world.agent, actor=world.admin, flavour="domain")


def test_nothing_of_a_customers_conversation_is_done_with_a_talk(world: World) -> None:
    talk = make_talk(world)
    deeds: list[Callable[[], object]] = [
        lambda: resolve_conversation(talk, actor=world.operator),
        lambda: take_over_conversation(talk, actor=world.operator),
        lambda: send_message(talk, actor=world.operator, sender=Message.Sender.OPERATOR, text="Hi", wire={}),
    ]
    for deed in deeds:
        with pytest.raises(IllegalTransition, match="a member's talk with an assistant"):
            deed()
    with pytest.raises(IllegalTransition, match="no desk, webhook or lesson"):
        open_escalation(
            talk.pk,
            actor=world.system,
            agent_id=world.agent.pk,
            turn_id=None,
            reason=Escalation.Reason.POLICY,
            question="Why?",
        )


def insert_conversation(world: World, actor: Actor, **values: object) -> None:
    """What a forgotten path would write, past the product's own checks."""
    with acting_as(actor), governed_write_open():
        Conversation(tenant_id=world.tenant.pk, agent=world.agent, conversation_key="k", **values).save(
            force_insert=True
        )


def test_postgresql_refuses_what_the_product_would(world: World) -> None:
    mine, other = world.operator_user.pk, world.admin_user.pk
    attempts: dict[str, tuple[Actor, dict[str, object]]] = {
        "a colleague's talk": (world.operator, {"channel": "console", "member_user_id": other}),
        "the system's": (world.system, {"channel": "console", "member_user_id": mine}),
        "an agent's": (world.bot.for_member(mine), {"channel": "console", "member_user_id": mine}),
        "a customer's line": (world.system, {"channel": "http"}),
        "nobody's talk": (world.system, {"channel": "console"}),
        "a talk with a customer": (
            world.operator,
            {"channel": "console", "member_user_id": mine, "end_user_key": "console:a"},
        ),
    }
    for actor, values in attempts.values():
        with pytest.raises(DatabaseError), transaction.atomic():
            insert_conversation(world, actor, **values)
    talk = make_talk(world)
    for actor in (world.operator, world.system, world.bot):
        with pytest.raises(DatabaseError), transaction.atomic(), acting_as(actor), connection.cursor() as cursor:
            cursor.execute("UPDATE conversations_conversation SET member_user_id = NULL WHERE id = %s", [talk.pk])


def member_actor(world: World, user_id: int) -> Actor | None:
    """The member, by way of the assistant."""
    return member_via_assistant(user_id, world.tenant.pk, agent_id=world.agent.pk, agent_label="agent:support")


def test_an_assistants_reader_writes_nothing_whatever_its_member_may(world: World) -> None:
    # R129: PostgreSQL refuses, in a read-only transaction; and the member's own transaction around it goes on.
    reader = member_actor(world, world.operator_user.pk)
    assert reader is not None
    assert reader.label == f"{world.operator.label} via agent:support"
    with pytest.raises(
        NotPermitted, match="An assistant may not write a member overlay for its member: it looks things up"
    ):
        make_member_overlay(world, actor=reader)
    with acting_as(world.operator):
        with pytest.raises(DatabaseError) as refusal, acting_as(reader), connection.cursor() as cursor:
            cursor.execute("UPDATE personas_persona SET style = 'x'")
        assert isinstance(refusal.value.__cause__, psycopg.errors.ReadOnlySqlTransaction)
        with acting_as(reader):
            assert not Conversation.objects.visible_to(reader).exists()
        make_member_overlay(world)


def test_who_is_no_member_any_more_is_served_no_more(world: World) -> None:
    member = make_member(world)
    assert member_actor(world, member.user_id) is not None
    deactivate_member(member, actor=world.admin)
    assert member_actor(world, member.user_id) is None


def test_neither_a_schedule_nor_another_agent_comes_to_an_assistant(world: World) -> None:
    desk = make_world()
    assistant = make_assistant(desk)
    with pytest.raises(Invalid, match="is an assistant"):
        draft_schedule(assistant.agent.pk, actor=desk.operator, values={"key": "nightly", "cron": "0 23 * * *"})
    for caller, callee in ((desk, assistant), (assistant, desk)):
        with pytest.raises(Invalid, match="is an assistant"):
            allow_invokable(caller.agent.pk, callee.agent.pk, actor=desk.operator)
