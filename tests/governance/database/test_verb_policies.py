"""Policies of row security that narrow one verb of one role: what they hide is untouched, without an error."""

import pytest
from django.db import connection

from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.models import Proposal
from apps.governance.policy.risk_tiers import RiskTier
from apps.governance.proposals.actions import approve_proposal, reject_proposal
from apps.governance.proposals.approval_rules import ApprovalVerdict
from apps.skills.proposals import propose_revision
from apps.skills.quarantine import quarantine_skill
from apps.tenants.actions import create_agent
from apps.tenants.authentication.actor_resolution import agent_actor
from tests.governance.database.test_row_security import latest_row, write_copy
from tests.support.database.catalog import tenant_tables
from tests.support.database.raw_sql_as_role import NO_RIGHT, run_and_undo
from tests.support.worlds.filled_world import Filled
from tests.support.worlds.world import World, make_neighbour, make_profile, make_skill, make_world

UNKNOWN_COLUMN = "42703"

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("beside_filled")]


@pytest.fixture
def world() -> World:
    return make_world()


def count_touched_rows(actor: Actor, statement: str, pk: int) -> int:
    """How many rows a statement touches; one that PostgreSQL refuses was not hidden by a policy."""
    outcome = run_and_undo(actor, statement, [pk])
    assert outcome.sqlstate == "", (statement, outcome.constraint)
    return outcome.rows


def test_drafts_alone_are_changed_and_removed_and_by_agents_their_own(world: World) -> None:
    # R017, R018
    own, by_person = make_skill(world), make_skill(world, actor=world.operator)
    approved = make_skill(world, "approved")
    change = "UPDATE skills_skill SET title = 'Mine' WHERE id = %s"
    remove = "DELETE FROM skills_skill WHERE id = %s"
    found = {
        row: [count_touched_rows(world.bot, each, row.pk) for each in (change, remove)]
        for row in (own, by_person, approved)
    }
    assert found == {own: [1, 1], by_person: [0, 0], approved: [0, 0]}
    assert [count_touched_rows(world.operator, remove, row.pk) for row in (own, by_person, approved)] == [1, 1, 0]


def test_a_skill_in_quarantine_is_not_there_for_agents(world: World) -> None:
    # R095
    held, free = quarantine_skill(make_skill(world), actor=world.operator, reason="Odd."), make_skill(world)
    look = "SELECT id FROM skills_skill WHERE id = %s"
    assert [count_touched_rows(world.bot, look, row.pk) for row in (held, free)] == [0, 1]
    assert count_touched_rows(world.operator, look, held.pk) == 1


def revision(world: World) -> Proposal:
    return propose_revision(make_skill(world, "approved"), actor=world.bot, values={"body": "Better."})


def test_proposals_are_changed_while_open_and_removed_while_nobody_agreed(world: World) -> None:
    # R018
    waits, agreed, rejected = revision(world), revision(world), revision(world)
    approve_proposal(agreed, actor=world.operator, verdict=ApprovalVerdict(agreed.content_sha256, RiskTier.LOW))
    reject_proposal(rejected, actor=world.operator, reason="No.")
    change = "UPDATE governance_proposal SET rationale = 'Mine' WHERE id = %s"
    remove = "DELETE FROM governance_proposal WHERE id = %s"
    assert [count_touched_rows(world.bot, change, row.pk) for row in (waits, agreed, rejected)] == [1, 1, 0]
    for actor in (world.bot, world.operator):
        assert [count_touched_rows(actor, remove, row.pk) for row in (waits, agreed, rejected)] == [1, 0, 0], actor.role


def test_an_agent_proposes_nothing_in_another_agents_name_or_in_nobodys(world: World) -> None:
    # R008: on a profile as well, which is the tenant's and which any of its agents may want to change.
    row, profile, neighbour = revision(world), make_profile(world), make_neighbour(world)
    with acting_as(world.operator), connection.cursor() as cursor:
        cursor.execute(
            "SELECT string_agg(quote_ident(attname), ', ') FROM pg_attribute WHERE attrelid = 'governance_proposal'::regclass"
            " AND attnum > 0 AND NOT attisdropped AND NOT attname IN ('id', 'agent_id', 'kind', 'target_type', 'target_id')"
        )
        columns = cursor.fetchone()[0]
    copy = (
        f"INSERT INTO governance_proposal (agent_id, kind, target_type, target_id, {columns})"  # noqa: S608  # from the catalog
        f" SELECT %s, %s, %s, %s, {columns} FROM governance_proposal WHERE id = {row.pk}"
    )
    for about in (
        (row.kind, row.target_type, row.target_id + 1_000_000),
        ("profile.change", "memory.customerprofile", profile.pk),
    ):
        for owner in (neighbour.pk, None):
            assert run_and_undo(world.bot, copy, [owner, *about]).sqlstate == NO_RIGHT, (owner, about)
        assert run_and_undo(world.bot, copy, [world.agent.pk, *about]).sqlstate != NO_RIGHT, about


# Where an agent reads rows that belong to none, or to all.
NOT_BY_AGENT = {"tenants_agent": "id", "tenants_agentgroupobjectpermission": "content_object_id"}


def test_no_table_shows_an_agent_a_row_of_another_agent(filled: Filled) -> None:
    # R008: a table joins by having a column that says whose.
    sales = create_agent("sales", "Sales", actor=filled.world.admin)
    neighbour = agent_actor(filled.world.tenant.pk, sales.pk, sales.service_user_id, "sales")
    shown = set()
    for table in tenant_tables():
        column = NOT_BY_AGENT.get(table.name, "agent_id")
        found = run_and_undo(neighbour, f"SELECT {column} FROM {table.name}")  # noqa: S608  # from the catalog
        assert found.sqlstate in {"", NO_RIGHT, UNKNOWN_COLUMN}, table.name
        assert {owner for (owner,) in found.found} <= {None, sales.pk}, table.name
        by_agent = f"SELECT 1 FROM {table.name} WHERE {column} = {filled.world.agent.pk}"  # noqa: S608
        if run_and_undo(filled.world.bot, by_agent).passed:
            shown.add(table.name)
    assert {"tenants_agentgrants", "kill_switches_killswitch", "memory_agentmemory", "tenants_agent"} <= shown


def test_an_agent_writes_into_the_books_in_its_own_name_alone(filled: Filled) -> None:
    # R062
    agent_id = filled.world.agent.pk
    for table in (each for each in tenant_tables() if each.name in {"governance_changerecord", "governance_refusal"}):
        row = latest_row(table, filled.world) | {"agent_id": agent_id, "actor_role": "agent"}
        assert write_copy(filled.world.bot, table, row, filled.world.tenant.pk).passed, table.name
        for forged in ({"actor_role": "operator"}, {"agent_id": None}, {"agent_id": agent_id + 1}):
            outcome = write_copy(filled.world.bot, table, row | forged, filled.world.tenant.pk)
            assert outcome.sqlstate == NO_RIGHT, (table.name, forged)
