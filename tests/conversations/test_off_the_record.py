"""Off the record: settled when a conversation opens, and kept by what follows it."""

import pytest

from apps.conversations.actions import abandon_conversation, resolve_conversation
from apps.conversations.models import Conversation, InboundEvent
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import Invalid
from tests.support.worlds.world import World, make_event, make_world

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    return make_world()


def receive_event(world: World, key: str, off_the_record: bool | None, thread: str = "private") -> InboundEvent:
    return make_event(world, key, conversation_key=thread, idempotency_key=key, off_the_record=off_the_record)


def test_the_message_that_opens_a_conversation_says_whether_it_is_off_the_record(world: World) -> None:
    # R178
    assert not receive_event(world, "plain", None, "plain").conversation.off_the_record
    assert not receive_event(world, "on", False, "on").conversation.off_the_record
    assert receive_event(world, "off", True).conversation.off_the_record


@pytest.mark.parametrize("opened", [True, False])
def test_a_later_message_cannot_change_the_record(world: World, opened: bool) -> None:
    # R178
    first = receive_event(world, "first", opened)
    for key in ("second", "first"):
        with pytest.raises(Invalid, match="stays so") as refusal:
            receive_event(world, key, not opened)
        assert set(refusal.value.fields) == {"off_the_record"}
    for off_record in (None, opened):
        assert receive_event(world, f"again {off_record}", off_record).conversation_id == first.conversation_id
    with acting_as(world.operator):
        assert Conversation.objects.visible_to(world.operator).get().off_the_record is opened


@pytest.mark.parametrize("opened", [True, False])
def test_a_conversation_that_follows_keeps_to_the_record_unless_it_says_otherwise(world: World, opened: bool) -> None:
    # R178, Z-15
    first = resolve_conversation(receive_event(world, "one", opened).conversation, actor=world.bot)
    second = receive_event(world, "two", None).conversation
    assert (second.follows_id, second.off_the_record) == (first.pk, opened)
    resolve_conversation(second, actor=world.bot)
    third = receive_event(world, "three", not opened).conversation
    assert (third.follows_id, third.off_the_record) == (second.pk, not opened)
    abandon_conversation(third, actor=world.bot)
    assert receive_event(world, "four", None).conversation.off_the_record is not opened


def test_a_thread_off_the_record_stays_so_for_who_no_longer_says_whose_it_is(world: World) -> None:
    # R178
    first = resolve_conversation(receive_event(world, "one", True).conversation, actor=world.bot)
    second = make_event(world, "two", conversation_key=first.conversation_key, end_user_key="").conversation
    assert (second.follows_id, second.off_the_record) == (None, True)
