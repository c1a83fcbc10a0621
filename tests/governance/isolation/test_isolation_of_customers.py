"""Within a tenant customers are walls too: in a turn with one of them there is nothing of another, in any table."""

from collections.abc import Mapping

import pytest

from apps.conversations.actions import resolve_conversation
from apps.conversations.models import Conversation
from apps.governance.actors import Actor
from apps.learning.extraction.pipeline import extract_conversation
from apps.runtime.worker.sync_driver import answer_conversation
from tests.support.database.catalog import TenantTable, tenant_tables
from tests.support.database.raw_sql_as_role import NO_RIGHT, run_and_undo
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.filled_world import SkillReadingModel, fill_world
from tests.support.worlds.world import World, make_conversation, make_event, make_profile

pytestmark = pytest.mark.django_db

OTHER_CUSTOMER = "http:somebody-else"
# Tables of the agent itself, in which another customer's conversation may leave a row; each with the reason.
AGENT_LEVEL_TABLES = {
    "governance_changerecord": "an agent reads back the id of a record and nothing else",
    "governance_changetext": "an agent reads back the id of a text and nothing else",
    "governance_proposal": "a proposal is about the agent's own texts",
    "memory_agentmemory": "shared by all customers of the agent; what customers left in it is quoted until a person approves it",
    "memory_memoryline": "the lines of what all customers of the agent share, and whose words each is",
    "skills_skill": "a draft is the agent's; a person approves it before any customer is served by it",
    "skills_skilluse": "how often a skill was used, by whom it does not say",
}


def ids_seen(actor: Actor, table: TenantTable) -> set[int] | None:
    """The ids this actor sees of a table; None where it has no right to look."""
    outcome = run_and_undo(actor, f"SELECT id FROM {table.name}")  # noqa: S608  # from the catalog
    if outcome.sqlstate == NO_RIGHT:
        return None
    assert not outcome.sqlstate, (table, outcome)
    return {int(pk) for (pk,) in outcome.found}


def all_ids(world: World) -> Mapping[str, set[int]]:
    """What workers and people see, table by table."""
    return {
        table.name: (ids_seen(world.system, table) or set()) | (ids_seen(world.operator, table) or set())
        for table in tenant_tables()
    }


def live_as_another_customer(world: World, standin: StandIn) -> None:
    """A profile, a conversation with turns, one that was resolved and looked at, and one that waits."""
    make_profile(world, OTHER_CUSTOMER, preferences="Only by telephone.")
    event = make_event(world, "I am somebody else. Can I get a refund?", end_user_key=OTHER_CUSTOMER)
    answer_conversation(world.tenant.pk, event.conversation_id, backend=SkillReadingModel(standin.backend))
    resolved = make_conversation(world, OTHER_CUSTOMER)
    resolve_conversation(resolved, actor=world.operator, outcome=Conversation.Outcome.UNSOLVED)
    extract_conversation(resolved.pk, actor=world.system, backend=standin.backend)
    make_event(world, "I wait.", end_user_key=OTHER_CUSTOMER)


@pytest.mark.slow
def test_in_a_turn_no_table_shows_a_row_of_another_customer(standin: StandIn) -> None:
    # R006, R007: a new table joins by being there.
    world = fill_world(standin.backend).world
    before = all_ids(world)
    live_as_another_customer(world, standin)
    theirs = {name: ids - before[name] for name, ids in all_ids(world).items()}
    ours, other, nobody = (world.bot.serving(key) for key in ("http:abc123", OTHER_CUSTOMER, ""))
    walled = set()
    for table in tenant_tables():
        if not theirs[table.name] or table.name in AGENT_LEVEL_TABLES:
            continue
        walled.add(table.name)
        for actor in (ours, nobody):
            assert not (ids_seen(actor, table) or set()) & theirs[table.name], (table.name, actor.customer_key)
        readable = ids_seen(other, table)
        assert readable is None or readable & theirs[table.name], table.name
    assert {
        *(
            "conversations_conversation",
            "conversations_inboundevent",
            "conversations_message",
            "memory_customerprofile",
        ),
        *(
            "runtime_session",
            "runtime_sessionpart",
            "runtime_turn",
            "runtime_modelcall",
            "runtime_toolstep",
            "learning_extraction",
        ),
    } <= walled


@pytest.mark.slow
def test_in_a_turn_nothing_is_written_for_another_customer(standin: StandIn) -> None:
    # R006
    world = fill_world(standin.backend).world
    live_as_another_customer(world, standin)
    ours = world.bot.serving("http:abc123")
    profile = "UPDATE memory_customerprofile SET notes = 'mine' WHERE end_user_key = %s"
    closing = "UPDATE conversations_conversation SET status = 'resolved' WHERE end_user_key = %s AND status = 'open'"
    moving = (
        "INSERT INTO memory_customerprofile (tenant_id, end_user_key, preferences, notes, updated_by, version, taint,"
    )
    moving += " created_at, updated_at) VALUES (app_tenant(), %s, '', '', 'agent:support', 1, 'agent', now(), now())"
    for statement in (profile, closing):
        assert run_and_undo(ours, statement, [OTHER_CUSTOMER]).rows == 0
        assert run_and_undo(world.bot.serving(OTHER_CUSTOMER), statement, [OTHER_CUSTOMER]).passed
    assert run_and_undo(ours, moving, ["http:a-third"]).sqlstate == NO_RIGHT
