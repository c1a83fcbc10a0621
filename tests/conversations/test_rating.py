"""What customers think of a conversation: once, when it has ended, and in no prompt."""

import pytest
from django.db import DatabaseError, connection, transaction

from apps.conversations.actions import resolve_conversation
from apps.conversations.models import Conversation
from apps.conversations.ratings import rate_conversation
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import Conflict, IllegalTransition, Invalid, NotPermitted
from tests.support.drivers.conversation import run_customer_turn, send_customer_message
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.world import World, make_conversation, make_persona, make_world

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    return make_world()


def make_resolved_conversation(world: World, *, off_the_record: bool = False) -> Conversation:
    return resolve_conversation(make_conversation(world, off_the_record=off_the_record), actor=world.bot)


def test_a_conversation_is_rated_once_and_when_it_has_ended(world: World) -> None:
    with pytest.raises(IllegalTransition, match="has not ended"):
        rate_conversation(make_conversation(world), actor=world.bot, score=5)
    rated = rate_conversation(make_resolved_conversation(world), actor=world.bot, score=2, comment="Slow.")
    assert (rated.rating, rated.rating_comment, rated.outcome) == (2, "Slow.", "unknown")
    with pytest.raises(Conflict, match="once"):
        rate_conversation(rated, actor=world.bot, score=5)
    with (
        pytest.raises(DatabaseError, match="once"),
        transaction.atomic(),
        acting_as(world.bot),
        connection.cursor() as raw,
    ):
        raw.execute("UPDATE conversations_conversation SET rating = 5 WHERE id = %s", [rated.pk])


@pytest.mark.parametrize("score", [0, 6, -1])
def test_a_score_is_from_1_to_5(world: World, score: int) -> None:
    with pytest.raises(Invalid, match="from 1 to 5"):
        rate_conversation(make_resolved_conversation(world), actor=world.bot, score=score)


def test_a_comment_too_long_is_refused_by_the_name_it_was_sent_under(world: World) -> None:
    row = make_resolved_conversation(world)
    with pytest.raises(Invalid, match="has 2001 characters; at most 2000") as refusal:
        rate_conversation(row, actor=world.bot, score=3, comment="x" * 2001)
    assert list(refusal.value.fields) == ["comment"]


def test_people_do_not_rate_for_customers_and_no_comment_is_kept_off_the_record(world: World) -> None:
    with pytest.raises(NotPermitted):
        rate_conversation(make_resolved_conversation(world), actor=world.operator, score=5)
    private = make_resolved_conversation(world, off_the_record=True)
    with pytest.raises(Invalid, match="off the record"):
        rate_conversation(private, actor=world.bot, score=5, comment="Nice.")
    assert rate_conversation(private, actor=world.bot, score=5).rating == 5


def test_a_comment_is_told_to_no_agent(world: World, standin: StandIn) -> None:
    make_persona(world)
    first = send_customer_message(world, "Hello").conversation
    rate_conversation(resolve_conversation(first, actor=world.bot), actor=world.bot, score=1, comment="xyzzy")
    run_customer_turn(world, "Hello again", standin)
    assert "xyzzy" not in str(standin.requests())
