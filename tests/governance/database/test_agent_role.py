"""The agent's database role, by raw SQL: each refusal beside a twin that passes and differs in one thing."""

import pytest

from apps.tenants.actions import create_agent
from apps.tenants.authentication.actor_resolution import agent_actor
from tests.governance.agent_role_cases import CASES
from tests.support.database.raw_sql_as_role import BROKEN_RULE, NO_RIGHT, StatementOutcome, run_and_undo
from tests.support.worlds.filled_world import Filled
from tests.support.worlds.world import make_profile

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("beside_filled")]

AGENT_TABLES = (
    "personas_persona",
    "personas_personaoverlay",
    "personas_identitycard",
    "skills_skill",
    "skills_skilluse",
    "memory_agentmemory",
    "memory_memoryblock",
    "memory_memoryline",
    "tenants_invokableagent",
    "governance_proposal",
    "conversations_conversation",
    "conversations_inboundevent",
    "conversations_message",
    "desk_draft",
    "desk_escalation",
    "runtime_session",
    "runtime_sessionpart",
    "runtime_snapshotpart",
    "runtime_turn",
    "runtime_modelcall",
    "runtime_toolstep",
)


def run_case(filled: Filled, name: str, statement: str) -> StatementOutcome:
    ids = {
        "draft": filled.draft.pk,
        "approved": filled.approved.pk,
        "open": filled.open.pk,
        "tenant": filled.world.tenant.pk,
        "agent": filled.world.agent.pk,
    }
    return run_and_undo({"operator": filled.world.operator, "agent": filled.world.bot}[name], statement.format(**ids))


def test_agents_database_role_is_refused_what_people_decide(filled: Filled) -> None:
    # R017, R018, R019, R020, R021, R094
    for name, case in CASES.items():
        refused = run_case(filled, "agent", case.refused)
        assert not refused.passed, name
        assert refused.sqlstate in {"", NO_RIGHT}, name
        assert run_case(filled, case.by, case.allowed or case.refused).passed, name


@pytest.mark.parametrize("status", ["approved", "deprecated"])
def test_no_role_inserts_a_skill_that_nobody_reviewed(status: str, filled: Filled) -> None:
    # R093
    born = (
        "INSERT INTO skills_skill (tenant_id, agent_id, name, title, description, category, body, status, drafted_by, taint,"
        " content_sha256, approved_sha256, approved_by, quarantined_by, quarantine_reason, version, created_at, updated_at)"
        " VALUES (%s, %s, 'forged', 'T', 'D', '', 'B', %s, 'agent:x', 'agent', '', '', '', '', '', 1, now(), now())"
    )
    for actor in (filled.world.bot, filled.world.operator, filled.world.system):
        key = [filled.world.tenant.pk, filled.world.agent.pk]
        assert run_and_undo(actor, born, [*key, status]).sqlstate == BROKEN_RULE
        assert run_and_undo(actor, born, [*key, "draft"]).passed


def test_no_role_rewrites_what_is_append_only(filled: Filled) -> None:
    # R062
    for table in ("governance_changerecord", "governance_changetext", "conversations_message", "runtime_session"):
        for verb in ("UPDATE {} SET tenant_id = tenant_id", "DELETE FROM {}", "TRUNCATE {}"):
            for actor in (filled.world.bot, filled.world.operator, filled.world.admin, filled.world.system):
                assert not run_and_undo(actor, verb.format(table)).passed, (table, verb)
        assert run_and_undo(filled.world.operator, f"SELECT 1 FROM {table}").passed, table  # noqa: S608  # names above


def test_an_agent_sees_nothing_of_another_agent_of_its_tenant(filled: Filled) -> None:
    # R008, R014
    sales = create_agent("sales", "Sales", actor=filled.world.admin)
    neighbour = agent_actor(filled.world.tenant.pk, sales.pk, sales.service_user_id, "sales")
    for table in AGENT_TABLES:
        rows = f"SELECT 1 FROM {table}"  # noqa: S608  # names above
        assert run_and_undo(filled.world.bot, rows).passed, table
        assert run_and_undo(neighbour, rows).rows == 0, table
    assert run_and_undo(neighbour, "SELECT 1 FROM memory_customerprofile").passed, "profiles are the tenant's (R085)"


def test_an_agent_sees_the_rules_of_the_organisation_and_its_own(filled: Filled) -> None:
    # R052, R053
    sales = create_agent("sales", "Sales", actor=filled.world.admin)
    neighbour = agent_actor(filled.world.tenant.pk, sales.pk, sales.service_user_id, "sales")
    owners = "SELECT agent_id FROM personas_standingrule ORDER BY agent_id NULLS FIRST"
    assert run_and_undo(filled.world.bot, owners).found == ((None,), (filled.world.agent.pk,))
    assert run_and_undo(neighbour, owners).found == ((None,),)


def test_an_agent_in_a_turn_sees_one_customer_alone(filled: Filled) -> None:
    # R006, R007
    other = make_profile(filled.world, "http:someone-else")
    serving = filled.world.bot.serving(filled.profile.end_user_key)
    keys = "SELECT end_user_key FROM memory_customerprofile"
    assert run_and_undo(serving, keys).found == ((filled.profile.end_user_key,),)
    assert run_and_undo(filled.world.bot, keys).rows == 2
    write = "UPDATE memory_customerprofile SET notes = 'x' WHERE end_user_key = %s"
    assert not run_and_undo(serving, write, [other.end_user_key]).passed
    assert run_and_undo(serving, write, [filled.profile.end_user_key]).passed
    threads = "SELECT 1 FROM conversations_conversation"
    assert not run_and_undo(filled.world.bot.serving(other.end_user_key), threads).passed
    assert run_and_undo(serving, threads).passed


def test_an_agent_in_a_turn_starts_no_profile_of_another_customer(filled: Filled) -> None:
    # R007
    write = (
        "INSERT INTO memory_customerprofile (tenant_id, end_user_key, preferences, notes, last_seen_at, updated_by,"
        " version, taint, created_at, updated_at) VALUES (%s, %s, '', '', now(), 'agent', 1, 'agent', now(), now())"
    )
    serving = filled.world.bot.serving("http:new")
    assert run_and_undo(serving, write, [filled.world.tenant.pk, "http:other"]).sqlstate == NO_RIGHT
    assert run_and_undo(serving, write, [filled.world.tenant.pk, "http:new"]).passed


def test_no_role_puts_a_conversation_on_or_off_the_record(filled: Filled) -> None:
    # R178
    change, same = (
        f"UPDATE conversations_conversation SET {column} = {column} WHERE id = %s"  # noqa: S608  # names beside it
        for column in ("off_the_record", "outcome")
    )
    for actor in (filled.world.operator, filled.world.admin, filled.world.system, filled.world.bot):
        assert run_and_undo(actor, change, [filled.open.pk]).sqlstate == NO_RIGHT
        assert run_and_undo(actor, same, [filled.open.pk]).passed


def test_an_agent_that_may_ask_another_still_does_not_see_its_row(filled: Filled) -> None:
    # R008, R014, R057
    callees = "SELECT callee_id FROM tenants_invokableagent"
    [(callee_id,)] = run_and_undo(filled.world.bot, callees).found
    row = "SELECT key, contract FROM tenants_agent WHERE id = %s"
    assert run_and_undo(filled.world.bot, row, [callee_id]).rows == 0
    assert run_and_undo(filled.world.system, row, [callee_id]).rows == 1


def test_the_worker_role_decides_nothing_about_skills_and_personas(filled: Filled) -> None:
    # R094
    for statement in (
        "UPDATE skills_skill SET status = 'deprecated'",
        "UPDATE personas_persona SET status = 'archived'",
        "DELETE FROM skills_skill",
        "UPDATE governance_proposal SET decided_by = 'me'",
        "UPDATE memory_memoryblock SET body = 'changed' WHERE is_read_only",
        "UPDATE memory_memoryblock SET is_pinned = false",
        "UPDATE memory_memoryblock SET body = 'changed', taint = 'agent', updated_by = 'agent' WHERE NOT is_read_only",
        "UPDATE memory_agentmemory SET taint = 'operator'",
        "UPDATE memory_agentmemory SET updated_by = 'operator:99'",
        "UPDATE memory_customerprofile SET updated_by = 'operator:99'",
        "UPDATE tenants_tenantsettings SET slot_order = 'contract_first'",
    ):
        assert run_and_undo(filled.world.system, statement).sqlstate == NO_RIGHT, statement
    assert run_and_undo(filled.world.system, "UPDATE memory_agentmemory SET updated_by = 'agent'").passed
