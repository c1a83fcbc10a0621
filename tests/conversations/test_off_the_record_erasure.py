"""Off the record, words go when the conversation has ended or fallen silent, and nothing else of the journal ever does."""

import pytest
from django.db import DatabaseError, connection, transaction

from apps.conversations.actions import resolve_conversation
from apps.conversations.models import Conversation, InboundEvent, Message
from apps.conversations.off_the_record_erasure import erase_conversation_text
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import Conflict
from apps.runtime.models import ModelCall, ToolStep, Turn
from apps.runtime.off_the_record_erasure import erase_conversation, erase_due_conversations
from apps.tenants.due_work import due_work
from tests.support.drivers.conversation import reply, run_turn, send_customer_message, tool
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.world import World, make_conversation, make_persona, make_world

pytestmark = pytest.mark.django_db

SECRET = "the-blue-door"


@pytest.fixture
def world() -> World:
    return make_world()


def send_secret(world: World, standin: StandIn, text: str = SECRET, *, off_the_record: bool = True) -> InboundEvent:
    standin.play(tool("get_skill", skill_id=SECRET), reply(f"I heard of {SECRET}."))
    event = send_customer_message(world, text, key="first", off_the_record=off_the_record, sender_name=SECRET)
    run_turn(world, event, standin.backend)
    return event


def due_erasures(world: World) -> list[int]:
    return [row_id for tenant_id, row_id in due_work("off_the_record_erasures") if tenant_id == world.tenant.pk]


def tables_with_secret(world: World) -> list[str]:
    """The tables in which the words stand."""
    with acting_as(world.system), connection.cursor() as cursor:
        found = []
        for model in (InboundEvent, Message, ModelCall, ToolStep, Turn, Conversation):
            table = model._meta.db_table
            cursor.execute(f"SELECT count(*) FROM {table} AS row WHERE row::text LIKE %s", [f"%{SECRET}%"])  # noqa: S608  # from models
            found += [table] * bool(cursor.fetchone()[0])
        return found


def test_what_was_said_off_the_record_is_gone_when_the_conversation_has_ended(world: World, standin: StandIn) -> None:
    # R178
    make_persona(world)
    conversation = send_secret(world, standin).conversation
    assert len(tables_with_secret(world)) == 4
    assert not due_erasures(world)
    resolve_conversation(conversation, actor=world.bot)
    assert due_erasures(world) == [conversation.pk]
    erase_due_conversations([(world.tenant.pk, conversation.pk)])
    assert tables_with_secret(world) == []
    assert not due_erasures(world)
    with acting_as(world.operator):
        stands = Conversation.objects.visible_to(world.operator).get(pk=conversation.pk)
        assert stands.erased_at is not None
        assert Message.objects.filter(conversation=conversation).count() > 1


def test_a_conversation_that_was_forgotten_goes_on_without_what_was_said(world: World, standin: StandIn) -> None:
    # R178
    make_persona(world)
    event = send_secret(world, standin)
    assert not due_erasures(world)
    erase_conversation(event.conversation)
    # The same message again is the same event still.
    assert send_customer_message(world, SECRET, key="first", off_the_record=True).pk == event.pk
    later = send_customer_message(world, "And now?")
    run_turn(world, later, standin.backend)
    assert SECRET not in str(standin.requests()[-1])
    assert tables_with_secret(world) == []


def test_a_turn_that_runs_keeps_what_it_needs(world: World, standin: StandIn) -> None:
    make_persona(world)
    event = send_secret(world, standin)
    waiting = send_customer_message(world, f"More of {SECRET}", key="second")
    erase_conversation(event.conversation)
    with acting_as(world.system):
        assert InboundEvent.objects.get(pk=waiting.pk).text.endswith(SECRET)
    assert tables_with_secret(world) == ["conversations_inboundevent"]


def test_on_the_record_nothing_is_forgotten_and_nothing_but_words_ever_goes(world: World, standin: StandIn) -> None:
    make_persona(world)
    kept = send_secret(world, standin, off_the_record=False).conversation
    with pytest.raises(Conflict, match="on the record"):
        erase_conversation_text(kept, actor=world.system)
    private = make_conversation(world, off_the_record=True)
    for change, conversation in (
        ("text = '', tool_calls = '[]', api_message = NULL", kept),
        ("text = 'other'", private),
        ("position = 99", private),
    ):
        with pytest.raises(DatabaseError), transaction.atomic(), acting_as(world.system), connection.cursor() as cursor:
            cursor.execute(
                f"UPDATE conversations_message SET {change} WHERE conversation_id = %s",  # noqa: S608  # of constants
                [conversation.pk],
            )
