"""trace_taint, as somebody runs it who wants to know what one conversation left behind."""

import json

import pytest

from apps.governance.database.actor_transaction import acting_as
from apps.memory.models import AgentMemory
from tests.learning.extraction.test_lineage import make_descendants
from tests.support.drivers.management_command import CommandOutput, run_command
from tests.support.worlds.world import World, make_conversation, make_world

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    return make_world()


def trace(world: World, conversation_id: int, *words: str) -> CommandOutput:
    return run_command("trace_taint", str(conversation_id), "--tenant", world.tenant.key, *words)


def test_it_lists_every_descendant_by_line(world: World) -> None:
    conversation = make_conversation(world)
    make_descendants(world, conversation)
    output = trace(world, conversation.pk).out
    assert "skills.skill" in output
    assert "  present: Parcels arrive broken." in output
    assert "Sessions that carried any of it: 0 (none)." in output
    rows = json.loads(trace(world, conversation.pk, "--json").out)["rows"]
    assert {row["type"] for row in rows} >= {"skills.skill", "memory.agentmemory", "memory.customerprofile"}
    assert "No row names this conversation" in trace(world, make_conversation(world).pk).out


def test_a_named_person_takes_it_all_away(world: World) -> None:
    conversation = make_conversation(world)
    make_descendants(world, conversation)
    decided = ("--quarantine", "--as", world.operator_user.username)
    assert "Say why" in trace(world, conversation.pk, *decided).failure
    assert "Removed now: 5." in trace(world, conversation.pk, *decided, "--reason", "Planted.").out
    with acting_as(world.operator):
        assert AgentMemory.objects.visible_to(world.operator).get().body == "Known before."


def test_it_refuses_what_is_not_there(world: World) -> None:
    conversation = make_conversation(world)
    assert "There is no conversation 0" in trace(world, 0).failure
    assert "There is no tenant" in run_command("trace_taint", "1", "--tenant", "nowhere").failure
    assert "name the member with --as" in trace(world, conversation.pk, "--quarantine", "--reason", "x").failure
    assert (
        "not an active member"
        in trace(world, conversation.pk, "--quarantine", "--reason", "x", "--as", "nobody").failure
    )
    assert "There is no conversation" in trace(make_world(), conversation.pk).failure
