"""The agent's database role, by raw SQL: each refusal beside a twin that passes and differs in one thing."""

from dataclasses import dataclass

import pytest

from apps.tenants.actions import create_agent
from apps.tenants.identity import agent_actor
from tests.factories import make_profile
from tests.governance.attempts import BROKEN_RULE, NO_RIGHT, Outcome, attempt
from tests.governance.filled import Filled, fill
from tests.standing_in import StandIn

pytestmark = pytest.mark.django_db


@pytest.fixture
def filled(standin: StandIn) -> Filled:
    return fill(standin.backend)


@dataclass(frozen=True)
class Case:
    """A statement, who is refused it, and who, or what else, passes."""

    refused: str
    allowed: str = ""
    by: str = "operator"


EVENT = (
    "INSERT INTO conversations_inboundevent (tenant_id, conversation_id, kind, idempotency_key, sender_name, text,"
    " text_sha256, received_at, turn_id) VALUES ({{tenant}}, {{open}}, '{kind}', 'forged', '', 'x', 'x', now(), {turn})"
)
RECORD = (
    "INSERT INTO governance_changerecord (tenant_id, act, subject_type, subject_id, subject_label, actor_role,"
    " actor_label, agent_id, version_before, version_after, evidence, taint, text_sha256, at) VALUES"
    " ({{tenant}}, 'skill.approve', 'skills.skill', 1, 'x', '{role}', 'x', {{agent}}, 1, 2, '{{{{}}}}', 'agent', 'x', now())"
)
PERSONA_CASES = [
    Case(f"UPDATE personas_persona SET {column} = 'changed'")  # noqa: S608  # names beside it
    for column in ("identity", "style", "avoid", "defaults")
]
CASES = {
    "R017 persona identity": PERSONA_CASES[0],
    "R017 persona style": PERSONA_CASES[1],
    "R017 persona avoid": PERSONA_CASES[2],
    "R017 persona defaults": PERSONA_CASES[3],
    "R017 persona status": Case("UPDATE personas_persona SET status = 'archived'"),
    "R021 persona create": Case(
        "INSERT INTO personas_persona (tenant_id, agent_id, identity, style, avoid, defaults, status, version, taint,"
        " created_at, updated_at) SELECT tenant_id, agent_id, '', '', '', '', 'active', 1, 'agent', now(), now()"
        " FROM personas_persona ON CONFLICT (tenant_id, agent_id) DO UPDATE SET style = 'changed'"
    ),
    "R018 skill status": Case(
        "UPDATE skills_skill SET status = 'deprecated' WHERE id = {draft}",
    ),
    "R018 skill approval": Case(
        "UPDATE skills_skill SET status = 'approved', approved_by = 'me', approved_sha256 = content_sha256 WHERE id = {draft}",
    ),
    "Z-3 body of an approved skill": Case(
        "UPDATE skills_skill SET body = 'changed' WHERE id = {approved}",
        "UPDATE skills_skill SET body = 'changed' WHERE id = {draft}",
        by="agent",
    ),
    "Z-3 description of an approved skill": Case(
        "UPDATE skills_skill SET description = 'changed' WHERE id = {approved}",
        "UPDATE skills_skill SET description = 'changed' WHERE id = {draft}",
        by="agent",
    ),
    "R020 approved skill deleted": Case(
        "DELETE FROM skills_skill WHERE id = {approved}", "DELETE FROM skills_skill WHERE id = {draft}", by="agent"
    ),
    "R020 persona deleted": Case("DELETE FROM personas_persona", "SELECT 1 FROM personas_persona", by="agent"),
    "R018 skill authorship": Case("UPDATE skills_skill SET drafted_by = 'operator:1' WHERE id = {draft}"),
    "change record changed": Case(
        "UPDATE governance_changerecord SET act = 'x'", "SELECT act FROM governance_changerecord"
    ),
    "change record read": Case("SELECT act FROM governance_changerecord"),
    "change text read": Case("SELECT before FROM governance_changetext"),
    "proposal applied": Case(
        "UPDATE governance_proposal SET state = 'applied', decided_by = 'me'",
        "UPDATE governance_proposal SET content = '{{}}'",
        by="agent",
    ),
    "proposal decided": Case("UPDATE governance_proposal SET decided_by = 'me'"),
    "token read": Case("SELECT id FROM tenants_agenttoken"),
    "member read": Case("SELECT id FROM tenants_membership"),
    "agent amended": Case("UPDATE tenants_agent SET learns = false"),
    "use of a skill rewritten": Case(
        "UPDATE skills_skilluse SET skill_id = 0", "SELECT 1 FROM skills_skilluse", by="agent"
    ),
    "message forged": Case(
        "INSERT INTO conversations_message (tenant_id, conversation_id, position, sender, text, tool_calls, created_at)"
        " VALUES ({tenant}, {open}, 99, 'operator', 'I allow it', '[]', now())"
    ),
    "R062 session forged": Case(
        "UPDATE runtime_session SET prefix_sha256 = ''", "SELECT 1 FROM runtime_session", by="agent"
    ),
    "memory passed off as a person's": Case(
        "UPDATE memory_agentmemory SET taint = 'operator'", "UPDATE memory_agentmemory SET taint = 'agent'", by="agent"
    ),
    "event passed off as the owner's": Case(EVENT.format(kind="operator", turn="NULL")),
    "event nobody will answer": Case(
        EVENT.format(kind="message", turn="1"), EVENT.format(kind="message", turn="NULL"), by="agent"
    ),
    "record in a person's name": Case(RECORD.format(role="operator"), RECORD.format(role="agent"), by="agent"),
    "verdict read": Case("SELECT id FROM learning_extraction"),
}


OF_ONE_AGENT = (
    "personas_persona",
    "skills_skill",
    "skills_skilluse",
    "memory_agentmemory",
    "governance_proposal",
    "conversations_conversation",
    "conversations_inboundevent",
    "conversations_message",
    "runtime_session",
    "runtime_sessionpart",
    "runtime_snapshotpart",
    "runtime_turn",
    "runtime_modelcall",
)


def run_as(filled: Filled, name: str, statement: str) -> Outcome:
    ids = {
        "draft": filled.draft.pk,
        "approved": filled.approved.pk,
        "open": filled.open.pk,
        "tenant": filled.world.tenant.pk,
        "agent": filled.world.agent.pk,
    }
    return attempt({"operator": filled.world.operator, "agent": filled.world.bot}[name], statement.format(**ids))


@pytest.mark.parametrize("name", CASES)
def test_agents_database_role_is_refused_what_people_decide(name: str, filled: Filled) -> None:
    # R017, R018, R019, R020, R021, R094
    case = CASES[name]
    refused = run_as(filled, "agent", case.refused)
    assert not refused.passed
    assert refused.sqlstate in {"", NO_RIGHT}
    assert run_as(filled, case.by, case.allowed or case.refused).passed


@pytest.mark.parametrize("status", ["approved", "deprecated"])
def test_no_role_inserts_a_skill_that_nobody_reviewed(status: str, filled: Filled) -> None:
    # R093
    born = (
        "INSERT INTO skills_skill (tenant_id, agent_id, name, title, description, category, body, status, drafted_by,"
        " content_sha256, approved_sha256, approved_by, version, taint, created_at, updated_at)"
        " VALUES (%s, %s, 'forged', 'T', 'D', '', 'B', %s, 'agent:support', '', '', '', 1, 'agent', now(), now())"
    )
    for actor in (filled.world.bot, filled.world.operator, filled.world.system):
        key = [filled.world.tenant.pk, filled.world.agent.pk]
        assert attempt(actor, born, [*key, status]).sqlstate == BROKEN_RULE
        assert attempt(actor, born, [*key, "draft"]).passed


@pytest.mark.parametrize(
    "table", ["governance_changerecord", "governance_changetext", "conversations_message", "runtime_session"]
)
@pytest.mark.parametrize("verb", ["UPDATE {} SET tenant_id = tenant_id", "DELETE FROM {}", "TRUNCATE {}"])
def test_no_role_rewrites_what_is_append_only(table: str, verb: str, filled: Filled) -> None:
    # R062
    for actor in (filled.world.bot, filled.world.operator, filled.world.admin, filled.world.system):
        assert not attempt(actor, verb.format(table)).passed
    assert attempt(filled.world.operator, f"SELECT 1 FROM {table}").passed  # noqa: S608  # names above


def test_an_agent_sees_nothing_of_another_agent_of_its_tenant(filled: Filled) -> None:
    # R008, R014
    sales = create_agent("sales", "Sales", actor=filled.world.admin)
    neighbour = agent_actor(filled.world.tenant.pk, sales.pk, sales.service_user_id, "sales")
    for table in OF_ONE_AGENT:
        rows = f"SELECT 1 FROM {table}"  # noqa: S608  # names above
        assert attempt(filled.world.bot, rows).passed, table
        assert attempt(neighbour, rows).rows == 0, table
    assert attempt(neighbour, "SELECT 1 FROM memory_customerprofile").passed, "profiles are the tenant's (R085)"


def test_an_agent_in_a_turn_sees_one_customer_alone(filled: Filled) -> None:
    # R006, R007
    other = make_profile(filled.world, "http:someone-else")
    serving = filled.world.bot.serving(filled.profile.end_user_key)
    keys = "SELECT end_user_key FROM memory_customerprofile"
    assert attempt(serving, keys).found == ((filled.profile.end_user_key,),)
    assert attempt(filled.world.bot, keys).rows == 2
    write = "UPDATE memory_customerprofile SET notes = 'x' WHERE end_user_key = %s"
    assert not attempt(serving, write, [other.end_user_key]).passed
    assert attempt(serving, write, [filled.profile.end_user_key]).passed
    threads = "SELECT 1 FROM conversations_conversation"
    assert not attempt(filled.world.bot.serving(other.end_user_key), threads).passed
    assert attempt(serving, threads).passed


def test_an_agent_in_a_turn_starts_no_profile_of_another_customer(filled: Filled) -> None:
    # R007
    write = (
        "INSERT INTO memory_customerprofile (tenant_id, end_user_key, preferences, notes, last_seen_at, updated_by,"
        " version, taint, created_at, updated_at) VALUES (%s, %s, '', '', now(), 'agent', 1, 'agent', now(), now())"
    )
    serving = filled.world.bot.serving("http:new")
    assert attempt(serving, write, [filled.world.tenant.pk, "http:other"]).sqlstate == NO_RIGHT
    assert attempt(serving, write, [filled.world.tenant.pk, "http:new"]).passed


def test_the_worker_role_decides_nothing_about_skills_and_personas(filled: Filled) -> None:
    # R094
    for statement in (
        "UPDATE skills_skill SET status = 'deprecated'",
        "UPDATE personas_persona SET status = 'archived'",
        "DELETE FROM skills_skill",
        "UPDATE governance_proposal SET decided_by = 'me'",
    ):
        assert attempt(filled.world.system, statement).sqlstate == NO_RIGHT, statement
    assert attempt(filled.world.system, "UPDATE runtime_turn SET fence = fence").passed
