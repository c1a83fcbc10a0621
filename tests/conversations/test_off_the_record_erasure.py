"""Off the record, words go when the conversation has ended or fallen silent, and nothing else of the journal ever does."""

import pytest
from django.db import DatabaseError, connection, transaction

from apps.conversations.actions import resolve_conversation
from apps.conversations.models import Conversation, InboundEvent, Message
from apps.conversations.off_the_record_erasure import forget_conversation
from apps.governance.database.actor_transaction import acting
from apps.governance.errors import Conflicting
from apps.runtime.models import ModelCall, ToolStep, Turn
from apps.runtime.off_the_record_erasure import forget, forget_all
from apps.tenants.due_work import due_work
from tests.support.drivers.conversation import reply, take, tell, tool
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.world import World, make_conversation, make_persona, make_world

pytestmark = pytest.mark.django_db

SECRET = "the-blue-door"


@pytest.fixture
def world() -> World:
    return make_world()


def confide(world: World, standin: StandIn, text: str = SECRET, *, off_the_record: bool = True) -> InboundEvent:
    standin.play(tool("get_skill", skill_id=SECRET), reply(f"I heard of {SECRET}."))
    event = tell(world, text, key="first", off_the_record=off_the_record, sender_name=SECRET)
    take(world, event, standin.backend)
    return event


def due(world: World) -> list[int]:
    return [row_id for tenant_id, row_id in due_work("off_the_record_erasures") if tenant_id == world.tenant.pk]


def remembered(world: World) -> list[str]:
    """The tables in which the words stand."""
    with acting(world.system), connection.cursor() as cursor:
        found = []
        for model in (InboundEvent, Message, ModelCall, ToolStep, Turn, Conversation):
            table = model._meta.db_table
            cursor.execute(f"SELECT count(*) FROM {table} AS row WHERE row::text LIKE %s", [f"%{SECRET}%"])  # noqa: S608  # from models
            found += [table] * bool(cursor.fetchone()[0])
        return found


def test_what_was_said_off_the_record_is_gone_when_the_conversation_has_ended(world: World, standin: StandIn) -> None:
    # R178
    make_persona(world)
    conversation = confide(world, standin).conversation
    assert len(remembered(world)) == 4
    assert not due(world)
    resolve_conversation(conversation, actor=world.bot)
    assert due(world) == [conversation.pk]
    forget_all([(world.tenant.pk, conversation.pk)])
    assert remembered(world) == []
    assert not due(world)
    with acting(world.operator):
        stands = Conversation.objects.visible_to(world.operator).get(pk=conversation.pk)
        assert stands.erased_at is not None
        assert Message.objects.filter(conversation=conversation).count() > 1


def test_a_conversation_that_was_forgotten_goes_on_without_what_was_said(world: World, standin: StandIn) -> None:
    # R178
    make_persona(world)
    event = confide(world, standin)
    assert not due(world)
    forget(event.conversation)
    # The same message again is the same event still.
    assert tell(world, SECRET, key="first", off_the_record=True).pk == event.pk
    later = tell(world, "And now?")
    take(world, later, standin.backend)
    assert SECRET not in str(standin.requests()[-1])
    assert remembered(world) == []


def test_a_turn_that_runs_keeps_what_it_needs(world: World, standin: StandIn) -> None:
    make_persona(world)
    event = confide(world, standin)
    waiting = tell(world, f"More of {SECRET}", key="second")
    forget(event.conversation)
    with acting(world.system):
        assert InboundEvent.objects.get(pk=waiting.pk).text.endswith(SECRET)
    assert remembered(world) == ["conversations_inboundevent"]


def test_on_the_record_nothing_is_forgotten_and_nothing_but_words_ever_goes(world: World, standin: StandIn) -> None:
    make_persona(world)
    kept = confide(world, standin, off_the_record=False).conversation
    with pytest.raises(Conflicting, match="on the record"):
        forget_conversation(kept, actor=world.system)
    private = make_conversation(world, off_the_record=True)
    for change, conversation in (
        ("text = '', tool_calls = '[]', api_message = NULL", kept),
        ("text = 'other'", private),
        ("position = 99", private),
    ):
        with pytest.raises(DatabaseError), transaction.atomic(), acting(world.system), connection.cursor() as cursor:
            cursor.execute(
                f"UPDATE conversations_message SET {change} WHERE conversation_id = %s",  # noqa: S608  # of constants
                [conversation.pk],
            )
