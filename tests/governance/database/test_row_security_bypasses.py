"""Ways around row security that PostgreSQL itself offers: what a role could leave behind, look at, or learn from a refusal."""

import re

import pytest
from django.conf import settings
from django.db import connection, connections

from apps.governance.actors import Actor
from apps.launcher.data_folders import PROJECT
from tests.support.database.catalog import (
    definer_functions,
    keys_without_tenant,
    other_relations,
    plain_references,
    readable_sequences,
    tenant_tables,
)
from tests.support.database.raw_sessions import session, statement_error
from tests.support.database.raw_sql_as_role import NO_RIGHT, run_and_undo
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.filled_world import fill_world
from tests.support.worlds.world import World, make_neighbour, make_persona, make_world

ROLE = "preceptor_test"
# What would stay on a pooled connection, or in the database, for the next tenant to find.
TEMPORARY_OBJECTS = (
    "CREATE TEMP TABLE personas_persona (id bigint, identity text)",
    "CREATE TEMP VIEW skills_skill AS SELECT 1 AS id",
    "CREATE FUNCTION pg_temp.app_tenant() RETURNS bigint LANGUAGE sql AS 'SELECT 1::bigint'",
    "CREATE TABLE public.personas_shadow (id bigint)",
    "CREATE FUNCTION public.app_tenants() RETURNS bigint LANGUAGE sql AS 'SELECT 1::bigint'",
    "CREATE SCHEMA shadow",
    "SELECT lo_create(0)",
    "SELECT lo_from_bytea(0, 'kept')",
    "SELECT lo_get(1)",
    "SELECT pg_advisory_lock(1)",
    "SELECT pg_try_advisory_lock(1)",
)
# What would take a wall down or step around it.
ROLE_CHANGES = (
    f"SET LOCAL ROLE {ROLE}_owner",
    f"SET LOCAL ROLE {ROLE}_cross_tenant",
    f"SET LOCAL SESSION AUTHORIZATION {ROLE}_owner",
    "SET LOCAL session_replication_role = replica",
    f"ALTER ROLE {ROLE}_agent BYPASSRLS",
    "ALTER TABLE personas_persona DISABLE ROW LEVEL SECURITY",
    "ALTER TABLE personas_persona NO FORCE ROW LEVEL SECURITY",
    "ALTER TABLE governance_changerecord DISABLE TRIGGER ALL",
    "DROP POLICY personas_persona_tenant ON personas_persona",
    "CREATE POLICY mine ON personas_persona USING (true)",
    "CREATE RULE mine AS ON INSERT TO personas_persona DO INSTEAD NOTHING",
    "TRUNCATE personas_persona",
    "COPY personas_persona TO PROGRAM 'cat'",
    "COPY personas_persona TO '/tmp/persona'",
    "SELECT pg_read_file('/etc/passwd')",
    "SELECT * FROM pg_largeobject",
    "SELECT * FROM pg_statistic",
    "SELECT last_value FROM memory_agentmemory_id_seq",
    "SELECT nextval('memory_agentmemory_id_seq')",
    "SELECT setval('memory_agentmemory_id_seq', 1)",
)


@pytest.fixture
def world(committing: str) -> World:
    return make_world()


def everybody(world: World) -> dict[str, Actor | None]:
    return {"operator": world.operator, "agent": world.bot, "worker": world.system, "login": None}


def test_no_role_leaves_anything_behind_for_the_next_tenant(world: World) -> None:
    # R012, R013: a table hidden behind a temporary one would take the next tenant's rows.
    for name, actor in everybody(world).items():
        for statement in TEMPORARY_OBJECTS:
            assert statement_error(actor, statement) == NO_RIGHT, (name, statement)
        assert statement_error(actor, "SELECT 1") == ""


def test_no_role_disables_or_bypasses_row_security(world: World) -> None:
    # R006, R012
    for name, actor in everybody(world).items():
        for statement in ROLE_CHANGES:
            assert statement_error(actor, statement) == NO_RIGHT, (name, statement)


def test_turning_row_security_off_ends_in_a_refusal(world: World) -> None:
    with session(world.operator) as raw:
        raw.execute("SET LOCAL row_security = off")
        with pytest.raises(Exception, match="row-level security"):
            raw.execute("SELECT id FROM personas_persona")


def test_copy_brings_out_the_tenants_own_rows_and_none_in(world: World) -> None:
    # R006
    make_persona(make_world(), identity="You are Eve.")
    make_persona(world, identity="You are Ada.")
    with session(world.operator) as raw, raw.cursor().copy("COPY personas_persona TO STDOUT") as copying:
        out = b"".join(bytes(each) for each in copying)
    assert b"You are Ada." in out
    assert b"Eve" not in out
    assert statement_error(world.operator, "COPY personas_persona FROM STDIN") == "0A000"
    assert statement_error(world.bot, "COPY personas_persona FROM STDIN") == NO_RIGHT


def test_statistics_and_activity_of_others_are_not_shown(world: World) -> None:
    # The most common values of a column would be another tenant's words.
    make_persona(make_world(), identity="You are Eve.")
    with connections["owner"].cursor() as cursor:
        cursor.execute("ANALYZE")
    for name, actor in everybody(world).items():
        with session(actor) as raw:
            rows = raw.execute("SELECT tablename FROM pg_stats WHERE schemaname = 'public'").fetchall()
            assert {str(table) for (table,) in rows} & {table.name for table in tenant_tables()} == set(), name
        if actor is not None:
            with session() as busy, session(actor) as raw:
                busy.execute("SELECT 'words of a customer'")
                queries = raw.execute("SELECT query FROM pg_stat_activity WHERE datname IS NOT NULL").fetchall()
                assert not any("words of a customer" in str(query) for (query,) in queries), name


@pytest.mark.django_db
def test_there_is_no_view_that_would_run_with_its_owners_rights() -> None:
    # A view reads as whoever made it; there is none, and the first one has to think of security_invoker.
    assert other_relations() == []


@pytest.mark.django_db
def test_no_role_of_a_tenant_reads_a_sequence() -> None:
    # How far another tenant's ids have come; the login alone draws the ids of tenants, and the trigger those of links.
    prefix = settings.DATABASE_ROLE_PREFIX
    assert readable_sequences() == {
        ("tenants_tenant_id_seq", f"{prefix}_login"),
        ("governance_auditlink_id_seq", f"{prefix}_cross_tenant"),
    }


# Keys that look past the tenant, each with the reason why that tells nothing, or nothing worth hiding.
GLOBAL_KEYS = {
    "tenants_tenant_key_key": "a tenant is made by whoever runs the installation, who knows them all",
    "tenants_agent_service_user_id_key": "a policy lets no role name a service user of another tenant",
    "tenants_agenttoken_digest_key": "a digest of 256 random bits cannot be guessed",
    "tenants_tenantgroupobjec_group_id_permission_id_c_f5e8afcd_uniq": "content_object_id is the tenant",
    "tenants_agentgroupobject_group_id_permission_id_c_97c7e3a0_uniq": "an agent that a composite key ties to the tenant",
    "tenants_agentuserobjectp_user_id_permission_id_co_6e9754c2_uniq": "an agent that a composite key ties to the tenant",
}


@pytest.mark.django_db
def test_every_key_of_a_tenants_table_is_unique_within_the_tenant() -> None:
    # R006, R008: a violation would tell that another tenant has such a row. Primary keys count up through all tenants.
    assert keys_without_tenant() == set(GLOBAL_KEYS)


@pytest.mark.django_db
def test_a_reference_that_carries_the_tenant_has_no_plain_one_beside_it() -> None:
    # R006: the plain one would fail for an id that is nowhere and pass for one that is another tenant's.
    assert plain_references() == set()


@pytest.mark.django_db
def test_an_id_of_another_tenant_breaks_the_same_key_as_one_that_is_nowhere() -> None:
    # R006
    world, other = make_world(), make_world()
    theirs = make_neighbour(other)
    adopt = (
        "INSERT INTO memory_agentmemory (tenant_id, agent_id, body, approved_body, updated_by, version, taint,"
        " created_at, updated_at, line_dates)"
        " VALUES (%s, %s, '', '', 'x', 1, 'operator', now(), now(), '{}'); SET CONSTRAINTS ALL IMMEDIATE"
    )
    broken = [run_and_undo(world.operator, adopt, [world.tenant.pk, agent_id]) for agent_id in (theirs.pk, 10**9)]
    assert [(outcome.sqlstate, outcome.constraint) for outcome in broken] == [
        ("23503", "memory_agentmemory_agent_id_in_tenant")
    ] * 2


@pytest.mark.slow
@pytest.mark.django_db
@pytest.mark.parametrize(
    ("table", "column"), [("learning_extraction", "conversation_id"), ("skills_skilluse", "skill_id")]
)
def test_a_key_says_nothing_of_another_tenants_row(table: str, column: str, standin: StandIn) -> None:
    # R006: whether another tenant's conversation was looked at, or its skill used, is not told by a unique key.
    ours, theirs = fill_world(standin.backend), fill_world(standin.backend)
    actor, row_id = (ours.world.system, theirs.resolved.pk)
    if table == "skills_skilluse":
        actor, row_id = ours.world.bot, theirs.approved.pk
    adopt = (
        f"INSERT INTO {table} SELECT (jsonb_populate_record(NULL::{table}, to_jsonb(own) || jsonb_build_object("  # noqa: S608  # constants
        f"'id', %s::bigint, '{column}', %s::bigint))).* FROM {table} AS own LIMIT 1; SET CONSTRAINTS ALL IMMEDIATE"
    )
    outcomes = [run_and_undo(actor, adopt, [10**12, each]) for each in (row_id, 10**9)]
    assert outcomes[0] == outcomes[1]
    assert outcomes[0].sqlstate in {"23503", NO_RIGHT}


@pytest.mark.django_db
def test_nobody_makes_an_agent_of_another_tenants_service_user() -> None:
    # R016
    world, other = make_world(), make_world()
    make = (
        "INSERT INTO tenants_agent (tenant_id, key, title, service_user_id, model, contract, has_learning, taint, version,"
        " session_idle_seconds, max_steps, created_at, updated_at, user_is_service)"
        " SELECT tenant_id, 'sales', title, %s, model, contract, has_learning, taint, version, session_idle_seconds, max_steps,"
        " now(), now(), true FROM tenants_agent LIMIT 1"
    )
    for user_id in (other.agent.service_user_id, other.operator_user.pk, 10**9):
        assert run_and_undo(world.operator, make, [user_id]).sqlstate == NO_RIGHT


@pytest.mark.django_db
def test_the_definer_functions_are_the_only_code_with_rights_of_its_own() -> None:
    # R007
    # Three cross the wall, one tells numbers of the whole installation, one links the books at commit, one names the people whose
    # roles are mixed to the login. Two are triggers that count talks of members whom the one who writes does not see; they tell
    # nothing but their refusal. Four look up numbers of the actor's own tenant by an index that row security would keep from
    # use, one how much work waits there. One tells an agent its own tools, one whether a line
    # is another agent's.
    own_rights = {
        *("resolve_agent_token", "list_memberships", "find_due_work"),
        *("list_installation_gauges", "link_audit_entry", "list_role_violations"),
    }
    assert set(definer_functions()) == own_rights | {
        "refuse_member_talk",
        "refuse_change_of_flavour",
        "find_parts_with_record",
        "find_sessions_with_parts",
        "find_change_records_by_evidence",
        "count_due_work",
        "search_rows",
        "list_agent_tool_names",
        "is_line_of_another_agent",
    }
    with connection.cursor() as cursor:
        cursor.execute("SELECT evtname FROM pg_event_trigger")
        assert cursor.fetchall() == []


SESSION_STATE_SQL = re.compile(
    r"pg_advisory_lock\(|set_config\([^)]*,\s*false\s*\)|\bSET\s+SESSION\b|\bSET\s+ROLE|['\"](?-i:LISTEN)\s|WITH\s+HOLD|CREATE\s+TEMP",
    re.IGNORECASE,
)


def test_no_code_of_the_product_sets_anything_for_a_whole_session() -> None:
    # R013: what outlives the transaction would be the next client's.
    code = [path for path in (PROJECT / "apps").rglob("*.py") if "launcher" not in path.parts]
    sources = [*code, *(PROJECT / "apps").glob("**/queries/**/*.sql")]
    found = [
        (path.name, match.group()) for path in sources for match in SESSION_STATE_SQL.finditer(path.read_text("utf-8"))
    ]
    assert len(sources) > 100
    # On a connection of its own, past every pool: the web process hears there that something waits, and asks nothing.
    assert found == [("postgres_listen.py", '"LISTEN ')]
