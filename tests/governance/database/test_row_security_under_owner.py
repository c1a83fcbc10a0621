"""Walls that stand even under the owner of the tables, or under a superuser who obeys no policy."""

from collections.abc import Iterator

import psycopg
import pytest
from django.db import connections
from psycopg import sql

from apps.launcher.postgres import Postgres
from tests.governance.database.test_row_security import NOT_COMPOSITE, references_between_nouns
from tests.support.database.catalog import forced_tables, tenant_tables
from tests.support.database.raw_sql_as_role import BROKEN_RULE
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.filled_world import Filled, fill_world

Raw = psycopg.Connection[tuple[object, ...]]
# What is written once and stands: the journal, the books, what people agreed to.
APPEND_ONLY = (
    *("conversations_inboundevent", "conversations_message", "learning_extraction", "restore_checkpoint"),
    *("governance_approval", "governance_auditcheck", "governance_auditlink", "governance_changerecord"),
    *("governance_changetext", "governance_refusal"),
    *("runtime_modelcall", "runtime_session", "runtime_sessionpart", "runtime_snapshotpart"),
)

# A rule of the row refuses before the reference is looked at.
EARLIER_CONSTRAINTS = {
    ("desk_draft", "message_id"): (BROKEN_RULE, "sent_draft_names_its_message"),
    ("memory_memoryline", "memory_id"): (BROKEN_RULE, "memory_line_belongs_to_one_text"),
    ("conversations_conversation", "parent_id"): (BROKEN_RULE, "delegated_conversation_names_its_delegating_turn"),
}


@pytest.fixture
def filled(committing: str, standin: StandIn) -> Filled:
    return fill_world(standin.backend)


@pytest.fixture
def two(committing: str, standin: StandIn) -> tuple[Filled, Filled]:
    return fill_world(standin.backend), fill_world(standin.backend)


@pytest.fixture
def superuser(postgres: Postgres, committing: str) -> Iterator[Raw]:
    with psycopg.connect(postgres.url_for("postgres", database=committing)) as raw:
        yield raw
        raw.rollback()


def statement_outcome(raw: Raw, statement: sql.Composed) -> tuple[str, str]:
    """How it ends, and by which constraint; what it did is undone."""
    try:
        with raw.transaction(force_rollback=True):
            raw.execute(statement)
            raw.execute("SET CONSTRAINTS ALL IMMEDIATE")
    except psycopg.Error as refusal:
        return str(refusal.sqlstate), refusal.diag.constraint_name or ""
    return "", ""


def test_the_owner_of_the_tables_sees_no_row_of_any_table_without_its_tenant(filled: Filled) -> None:
    # R012: FORCE, table by table; with its tenant the owner sees that one's rows, so the tables are not empty.
    seen: dict[str, list[int]] = {}
    with connections["owner"].cursor() as cursor:
        for tenant in ("", str(filled.world.tenant.pk)):
            cursor.execute("SELECT set_config('app.tenant', %s, false)", [tenant])
            for table in tenant_tables():
                cursor.execute(f"SELECT count(*) FROM {table.name}")  # noqa: S608  # from the catalog
                seen.setdefault(table.name, []).append(cursor.fetchone()[0])
        cursor.execute("SELECT count(*) FROM tenants_user")
        people = cursor.fetchone()[0]
    assert [name for name, (without, _) in seen.items() if without] == []
    assert [name for name, (_, own) in seen.items() if not own] == []
    assert people == 0
    assert forced_tables() == {"tenants_user", *seen}


def test_a_superuser_meets_the_journal_as_it_was_written(filled: Filled, superuser: Raw) -> None:
    # R062
    for table in APPEND_ONLY:
        named = sql.Identifier(table)
        for verb in ("UPDATE {} SET tenant_id = tenant_id", "DELETE FROM {}"):
            assert statement_outcome(superuser, sql.SQL(verb).format(named))[0] == BROKEN_RULE, (table, verb)


def test_no_role_writes_a_reference_into_another_tenant(two: tuple[Filled, Filled], superuser: Raw) -> None:
    # R006: past every policy and trigger the key alone is left, and it holds.
    own, other = (filled.world.tenant.pk for filled in two)
    for table, column, target in sorted(references_between_nouns()):
        if (table, column) in NOT_COMPOSITE:
            continue
        named = {"table": sql.Identifier(table), "column": sql.Identifier(column), "target": sql.Identifier(target)}
        superuser.execute(sql.SQL("ALTER TABLE {table} DISABLE TRIGGER USER").format(**named))
        moving = sql.SQL(
            "UPDATE {table} SET {column} = (SELECT max(id) FROM {target} WHERE tenant_id = {tenant})"
            " WHERE id = (SELECT max(id) FROM {table} WHERE tenant_id = {own})"
        )
        abroad = moving.format(tenant=sql.Literal(other), own=sql.Literal(own), **named)
        refused = statement_outcome(superuser, abroad)
        assert refused in {("23503", f"{table}_{column}_in_tenant"), EARLIER_CONSTRAINTS.get((table, column))}
        at_home = moving.format(tenant=sql.Literal(own), own=sql.Literal(own), **named)
        assert statement_outcome(superuser, at_home)[0] in {"", "23505", BROKEN_RULE}, (table, column)
