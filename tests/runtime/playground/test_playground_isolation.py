"""The database's half of the playground: whose it is stays, and proposed words come into no other prompt."""

import pytest
from django.db import connection, transaction
from django.db.utils import DatabaseError

from apps.conversations.models import Conversation
from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.models.base import governed_write_open
from apps.runtime.prompt_snapshot.snapshot_store import store_snapshot
from tests.runtime.playground.test_playground import frozen_session, propose_style, run_trial
from tests.support.drivers.conversation import run_customer_turn
from tests.support.factories.member_talks import make_trial
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.world import World, make_persona, make_world

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    world = make_world()
    make_persona(world)
    return world


def insert_conversation(world: World, actor: Actor, **values: object) -> None:
    """What a forgotten path would write, past the product's own checks."""
    with acting_as(actor), governed_write_open():
        Conversation(tenant_id=world.tenant.pk, agent=world.agent, conversation_key="k", **values).save(
            force_insert=True
        )


def test_postgresql_refuses_what_the_product_would(world: World) -> None:
    mine, proposal = world.operator_user.pk, propose_style(world)
    trial = {"channel": "playground", "member_user_id": mine, "off_the_record": True}
    attempts: dict[str, tuple[Actor, dict[str, object]]] = {
        "a colleague's": (world.operator, trial | {"member_user_id": world.admin_user.pk}),
        "nobody's": (world.system, {"channel": "playground", "off_the_record": True}),
        "the system's": (world.system, trial),
        "an agent's": (world.bot.for_member(mine), trial),
        "on the record": (world.operator, trial | {"off_the_record": False}),
        "with a customer": (world.operator, trial | {"end_user_key": "playground:a"}),
        "in the assistant's place": (world.operator, trial | {"channel": "console"}),
        "of no proposal": (world.operator, trial | {"trial_proposal_id": proposal.pk + 1000}),
        "a customer's": (world.system, {"channel": "http", "trial_proposal_id": proposal.pk}),
    }
    for actor, values in attempts.values():
        with pytest.raises(DatabaseError), transaction.atomic():
            insert_conversation(world, actor, **values)
    insert_conversation(world, world.operator, **trial, trial_proposal_id=proposal.pk)
    with acting_as(world.operator):
        begun = Conversation.objects.get(channel="playground")
    changes = ("trial_proposal_id = NULL", "channel = 'http', member_user_id = NULL", "off_the_record = false")
    for actor in (world.operator, world.system):
        for change in changes:
            with pytest.raises(DatabaseError), transaction.atomic(), acting_as(actor), connection.cursor() as cursor:
                cursor.execute(f"UPDATE conversations_conversation SET {change} WHERE id = %s", [begun.pk])  # noqa: S608


def test_postgresql_lets_proposed_words_into_no_other_prompt(world: World, standin: StandIn) -> None:
    proposal = propose_style(world)
    trial = make_trial(world, proposal_id=proposal.pk)
    run_trial(world, trial, standin)
    prefix = frozen_session(world, trial)
    run_customer_turn(world, "Hello", standin)
    with acting_as(world.system):
        customers = Conversation.objects.get(channel="http")
    for conversation in (customers, make_trial(world)):
        with pytest.raises(DatabaseError, match="Words pending review"), transaction.atomic():
            store_snapshot(conversation, prefix.assembled, prefix.tools, actor=world.system)
    store_snapshot(trial, prefix.assembled, prefix.tools, actor=world.system)
