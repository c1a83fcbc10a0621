"""What PostgreSQL refuses by itself, whatever Python would have said: no tenant, another tenant, another role."""

import json

import pytest
from django.apps import apps
from django.conf import settings
from django.db import connection
from django.db.models import ForeignKey, Model

from apps.governance.actors import Actor, Role
from tests.support.database.catalog import (
    SHARED_TABLES,
    TenantTable,
    all_tables,
    composite_references,
    definer_functions,
    forced_tables,
    has_table_right,
    tenant_tables,
)
from tests.support.database.raw_sql_as_role import NO_RIGHT, StatementOutcome, run_and_undo
from tests.support.worlds.filled_world import Filled
from tests.support.worlds.world import World, make_world

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("beside_filled")]

# References inside a tenant that the database does not hold, each with its reason.
NOT_COMPOSITE = {
    ("learning_extraction", "skill_id"): "a discarded draft leaves its verdict behind",
    ("learning_digestrun", "learning_version_id"): "a version that is pruned leaves its run behind",
    ("learning_lesson", "learning_version_id"): "and its lessons digested",
    ("learning_learningversion", "previous_version_id"): "and the version that followed it",
}


@pytest.fixture
def other() -> World:
    return make_world()


def actors(world: World) -> dict[str, Actor]:
    return {"operator": world.operator, "agent": world.bot, "worker": world.system}


def without_tenant(actor: Actor) -> Actor:
    return Actor(0, actor.role, actor.grants, "nobody's")


def count_in(table: TenantTable, actor: Actor | None, tenant_id: int) -> StatementOutcome:
    return run_and_undo(actor, f"SELECT id FROM {table.name} WHERE {table.column} = %s", [tenant_id])  # noqa: S608  # from the catalog


def test_every_table_is_a_tenants_or_shared_for_a_reason() -> None:
    # R006
    walled = {table.name for table in tenant_tables()}
    assert walled <= forced_tables()
    assert len(walled) >= 18
    assert set(SHARED_TABLES) & walled == set()
    assert "tenants_user" in forced_tables()


def test_shared_tables_carry_no_tenant_column() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT table_name FROM information_schema.columns WHERE column_name = 'tenant_id'")
        named = {name for (name,) in cursor.fetchall()}
    assert named & set(SHARED_TABLES) == set()
    assert named <= set(all_tables())


@pytest.mark.slow
def test_a_tenants_own_rows_are_seen_in_every_table_by_some_role(filled: Filled) -> None:
    # R005: the other tests would prove nothing of an empty table.
    for table in tenant_tables():
        own = [count_in(table, actor, filled.world.tenant.pk).rows for actor in actors(filled.world).values()]
        assert max(own) > 0, table.name


def test_without_a_tenant_no_role_sees_a_row(filled: Filled) -> None:
    # R006
    for table in tenant_tables():
        for name, actor in actors(filled.world).items():
            outcome = count_in(table, without_tenant(actor), filled.world.tenant.pk)
            assert outcome.rows == 0, (table.name, name)
            assert outcome.sqlstate in {"", NO_RIGHT}, (table.name, name)


def test_the_login_role_alone_reads_no_tenants_table(filled: Filled) -> None:
    # R007
    for table in tenant_tables():
        assert count_in(table, None, filled.world.tenant.pk).sqlstate == NO_RIGHT, table.name


@pytest.mark.slow
def test_another_tenants_rows_are_invisible_in_every_table(filled: Filled, other: World) -> None:
    # R006
    for table in tenant_tables():
        for name, actor in actors(other).items():
            assert count_in(table, actor, filled.world.tenant.pk).rows == 0, (table.name, name)


# What else a fresh row has to be, so that nothing but the wall refuses it.
INITIAL_VALUES: dict[str, dict[str, object]] = {
    "governance_proposal": {"decided_by": "", "decided_at": None, "approval_count": 0},
    "skills_skill": {"approved_by": "", "approved_sha256": ""},
}


def initial_state(table: TenantTable) -> dict[str, str]:
    """The state that the table's trigger wants a fresh row to be in."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT encode(tgargs, 'escape') FROM pg_trigger WHERE tgname = 'refuse_illegal_transition' AND tgrelid = %s::regclass",
            [table.name],
        )
        found = cursor.fetchone()
    return dict([str(found[0]).split("\\000")[:2]]) if found else {}


def latest_row(table: TenantTable, world: World) -> dict[str, object]:
    """A row of the table as JSON, read by whoever may read it whole."""
    reading = f"SELECT to_jsonb(row) FROM {table.name} AS row ORDER BY row.id DESC LIMIT 1"  # noqa: S608  # from the catalog
    outcomes = [run_and_undo(actor, reading) for actor in actors(world).values()]
    return next((json.loads(outcome.found[0][0]) for outcome in outcomes if outcome.passed), {})


def write_copy(actor: Actor, table: TenantTable, row: dict[str, object], tenant_id: int) -> StatementOutcome:
    """Write a row once more, under a fresh id and the given tenant, in the state rows are born in."""
    changed = json.dumps(
        {**row, "id": 10**12, table.column: tenant_id, **initial_state(table), **INITIAL_VALUES.get(table.name, {})}
    )
    writing = f"INSERT INTO {table.name} SELECT (jsonb_populate_record(NULL::{table.name}, %s::jsonb)).*"
    return run_and_undo(actor, writing, [changed])


@pytest.mark.slow
def test_no_role_writes_a_row_into_another_tenant(filled: Filled, other: World) -> None:
    # R006: the twin differs in the tenant's id alone, and gets past the wall to the unique keys or into the table.
    past_the_wall = 0
    for table in tenant_tables():
        row = latest_row(table, filled.world)
        for name, actor in actors(filled.world).items():
            assert write_copy(actor, table, row, other.tenant.pk).sqlstate == NO_RIGHT, (table.name, name)
            past_the_wall += write_copy(actor, table, row, filled.world.tenant.pk).sqlstate in {"", "23505"}
    assert past_the_wall >= 30


def test_no_role_moves_its_rows_to_another_tenant(filled: Filled, other: World) -> None:
    # R006
    for table in tenant_tables():
        for name, actor in actors(filled.world).items():
            moving = f"UPDATE {table.name} SET {table.column} = %s"  # noqa: S608  # from the catalog
            outcome = run_and_undo(actor, moving, [other.tenant.pk])
            assert not outcome.passed, (table.name, name)


def test_nobody_but_the_owner_truncates(filled: Filled) -> None:
    for table in tenant_tables():
        for role in ("login", "operator", "agent", "worker", "cross_tenant"):
            assert not has_table_right(f"{settings.DATABASE_ROLE_PREFIX}_{role}", "TRUNCATE", table.name), (
                table.name,
                role,
            )


def references_between_nouns() -> set[tuple[str, str, str]]:
    """(table, column, target) of every reference from one tenant's row to another, as the models declare them."""
    found = set()
    for model in apps.get_models():
        for field in model._meta.get_fields():
            if isinstance(field, ForeignKey) and has_tenant(model) and has_tenant(field.remote_field.model):
                found.add((model._meta.db_table, str(field.column), field.remote_field.model._meta.db_table))
    return found


def has_tenant(model: type[Model]) -> bool:
    return any(field.name == "tenant" for field in model._meta.get_fields())


def test_every_reference_between_tenants_rows_carries_the_tenant() -> None:
    # R006
    missing = references_between_nouns() - composite_references()
    assert {(table, column) for table, column, _ in missing} == set(NOT_COMPOSITE)
    assert len(references_between_nouns()) >= 20


def test_a_reference_to_another_tenants_agent_is_refused(filled: Filled, other: World) -> None:
    # R006: a plain foreign key would look past row security and find it.
    adopt = (
        "INSERT INTO memory_agentmemory (tenant_id, agent_id, body, approved_body, updated_by, version, taint,"
        " created_at, updated_at, line_dates)"
    )
    values = " VALUES (%s, %s, '', '', 'x', 1, 'operator', now(), now(), '{}'); SET CONSTRAINTS ALL IMMEDIATE"
    refused = run_and_undo(filled.world.operator, adopt + values, [filled.world.tenant.pk, other.agent.pk])
    assert refused.sqlstate == "23503"
    assert not run_and_undo(other.operator, adopt + values, [other.tenant.pk, other.agent.pk]).sqlstate


def test_only_three_functions_bypass_row_security_without_a_tenant() -> None:
    # R007; beside them stand the trigger that links the books, which nobody can call, and the check of R016.
    prefix = settings.DATABASE_ROLE_PREFIX
    callers = {f"{prefix}_login", f"{prefix}_cross_tenant"}
    crossing = {"resolve_agent_token": callers, "list_memberships": callers, "find_due_work": callers}
    # Numbers of the whole installation, for its metrics: what waits and how long, of which kind, and no row of anybody.
    crossing["list_installation_gauges"] = callers
    # Triggers too, which tell nothing: whether an agent was talked with, and whether a conversation is a member's talk.
    triggers = {
        name: {f"{prefix}_cross_tenant"}
        for name in ("link_audit_entry", "refuse_change_of_flavour", "refuse_member_talk")
    }
    # Of the tenant that is known, by an index that row security would not let be used: what prompts carried, what records name.
    readers = {f"{prefix}_{role}" for role in ("operator", "worker", "staff", "cross_tenant")}
    within = {
        "find_parts_with_record": readers,
        "find_sessions_with_parts": readers,
        "find_change_records_by_evidence": readers,
    }
    # Of the tenant that is known, what waits for a worker: numbers, and since when.
    within["count_due_work"] = {f"{prefix}_{role}" for role in ("operator", "staff", "cross_tenant")}
    # Of the tenant that is known, which rows hold certain words: ids.
    within["search_rows"] = {f"{prefix}_{role}" for role in ("operator", "staff", "cross_tenant")}
    # Of the agent whose hands these are: the names of its own tools.
    own = {"list_agent_tool_names": {f"{prefix}_{role}" for role in ("agent", "cross_tenant")}}
    # Of the tenant that is known, whether a line is another agent's: yes or no.
    own["is_line_of_another_agent"] = {
        f"{prefix}_{role}" for role in ("operator", "staff", "agent", "worker", "cross_tenant")
    }
    assert definer_functions() == {**crossing, **triggers, **within, **own, "list_role_violations": callers}


def test_the_crossing_functions_run_on_a_fixed_search_path() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT proname FROM pg_proc WHERE prosecdef AND NOT 'search_path=public, pg_temp' = ANY (proconfig)"
        )
        assert cursor.fetchall() == []


@pytest.mark.parametrize("role", [Role.OPERATOR, Role.ADMIN, Role.SYSTEM])
def test_a_service_user_is_shown_and_made_for_its_own_tenant_only(role: Role, other: World) -> None:
    # R016
    world = make_world()
    actor = Actor(world.tenant.pk, role, frozenset(), "raw")
    seen = run_and_undo(actor, "SELECT username FROM tenants_user WHERE is_service")
    assert seen.found == ((f"agent:{world.tenant.pk}:support",),)
    add = (
        "INSERT INTO tenants_user (username, password, is_service, is_staff, is_superuser, is_active, first_name,"
        " last_name, email, date_joined, session_generation)"
        " VALUES (%s, '!', true, false, false, true, '', '', '', now(), 0)"
    )
    assert run_and_undo(actor, add, [f"agent:{world.tenant.pk}:sales"]).passed
    assert run_and_undo(actor, add, [f"agent:{other.tenant.pk}:sales"]).sqlstate == NO_RIGHT
