"""A line belongs to the agent that has a card for it; what comes in there is told to no other one (R133)."""

import pytest
from django.db import IntegrityError, transaction

from apps.conversations.actions import receive_message
from apps.conversations.models import InboundEvent
from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import Conflict, Invalid
from apps.personas.actions import create_identity_card
from apps.personas.models import IdentityCard
from tests.support.worlds.world import World, make_event, make_identity_card, make_neighbour, make_world

pytestmark = pytest.mark.django_db

LINE = "+34 600 000 001"


@pytest.fixture
def world() -> World:
    return make_world()


def message_neighbour(world: World, agent_id: int, actor: Actor, key: str = "k") -> InboundEvent:
    """What a customer says to another agent of the tenant, on the line."""
    return receive_message(
        agent_id,
        actor=actor,
        channel="http",
        conversation_key="elsewhere",
        text="Hello",
        idempotency_key=key,
        line_key=LINE,
    )


def test_a_line_has_a_card_of_one_agent(world: World) -> None:
    make_identity_card(world, line_key=LINE)
    make_identity_card(world)
    neighbour = make_neighbour(world)
    with pytest.raises(Conflict, match="This line belongs to another agent"):
        create_identity_card(neighbour.pk, actor=world.operator, values={"line_key": LINE})
    create_identity_card(neighbour.pk, actor=world.operator, values={"business_name": "Acme"})
    with acting_as(world.operator):
        assert IdentityCard.objects.visible_to(world.operator).filter(line_key=LINE).get().agent_id == world.agent.pk


def test_tenants_have_lines_of_the_same_name(world: World) -> None:
    make_identity_card(world, line_key=LINE)
    other = make_world("other")
    assert make_event(other, line_key=LINE).line_key == LINE
    assert make_identity_card(other, line_key=LINE).line_key == LINE


@pytest.mark.parametrize("role", ["system", "operator", "admin"])
def test_what_comes_in_on_a_line_is_told_to_its_agent_alone(world: World, role: str) -> None:
    actor: Actor = getattr(world, role)
    neighbour = make_neighbour(world)
    message_neighbour(world, neighbour.pk, actor, "before it had a card")
    make_identity_card(world, line_key=LINE)
    with pytest.raises(Invalid, match="belongs to another agent") as refused:
        message_neighbour(world, neighbour.pk, actor)
    assert list(refused.value.fields) == ["line"]
    with acting_as(world.operator):
        assert InboundEvent.objects.filter(conversation__agent=neighbour).count() == 1
    assert make_event(world, line_key=LINE).line_key == LINE
    # A message that was taken then and is sent again is still the same one.
    assert message_neighbour(world, neighbour.pk, actor, "before it had a card").pk


def test_the_database_keeps_a_message_to_its_line(world: World) -> None:
    make_identity_card(world, line_key=LINE)
    event = message_neighbour_without_line(world)
    event.pk, event.line_key, event.idempotency_key = None, LINE, "past the act"
    with (
        acting_as(world.system),
        pytest.raises(IntegrityError, match="for the agent of that line"),
        transaction.atomic(),
    ):
        event.save(force_insert=True)
    event.line_key = "another line"
    with acting_as(world.system), transaction.atomic():
        event.save(force_insert=True)


def message_neighbour_without_line(world: World) -> InboundEvent:
    """A message to another agent that names no line."""
    neighbour = make_neighbour(world)
    return receive_message(
        neighbour.pk,
        actor=world.system,
        channel="http",
        conversation_key="elsewhere",
        text="Hello",
        idempotency_key="k",
    )
