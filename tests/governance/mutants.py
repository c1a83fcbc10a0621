"""The protections of the product, each as the change that takes it away and the tests that have to notice."""

from collections.abc import Iterator
from dataclasses import dataclass

from django.conf import settings
from django.db import connection

from tests.governance.tables import forced_tables, tenant_tables

WALLS = ("tests/governance/test_walls.py",)
ALL_WALLS = (
    *WALLS,
    "tests/governance/test_agent_role.py",
    "tests/governance/test_committed_walls.py",
    "tests/governance/test_state_machines.py",
    "tests/governance/test_holes.py",
)
SETTINGS_OF_SESSION = ("tests/governance/test_committed_walls.py", "tests/governance/test_acting.py")
DOOR = ("tests/governance/test_door.py", "tests/governance/test_guard.py")


@dataclass(frozen=True)
class DatabaseMutant:
    """A protection of the database, and the SQL that takes it away."""

    kind: str
    name: str
    sql: str
    tests: tuple[str, ...]


@dataclass(frozen=True)
class CodeMutant:
    """A protection in the code: the words that are it, and what stands there without it."""

    kind: str
    name: str
    path: str
    words: str
    instead: str
    tests: tuple[str, ...]


CODE = (
    CodeMutant(
        *("LOCAL", "role and tenant for the session", "apps/governance/acting.py"),
        """            "SELECT set_config('role', %s, true), set_config('app.tenant', %s, true),"
            " set_config('app.agent', %s, true), set_config('app.customer', %s, true)",""",
        """            "SELECT set_config('role', %s, false), set_config('app.tenant', %s, false),"
            " set_config('app.agent', %s, false), set_config('app.customer', %s, false)",""",
        SETTINGS_OF_SESSION,
    ),
    CodeMutant(
        *("role switch", "every actor acts as the worker", "apps/governance/acting.py"),
        'role = f"{settings.DATABASE_ROLE_PREFIX}_{_DATABASE_ROLE[actor.role]}"',
        'role = f"{settings.DATABASE_ROLE_PREFIX}_worker"',
        ("tests/governance/test_agent_role.py",),
    ),
    CodeMutant(
        *("role switch", "the outer actor does not act again", "apps/governance/acting.py"),
        "        if nested and not connection.needs_rollback:\n            _assume(before)",
        "        del nested",
        ("tests/governance/test_acting.py",),
    ),
    CodeMutant(
        *("customer", "a turn does not say whom it serves", "apps/governance/acting.py"),
        'return "" if actor.customer_key is None else f"={actor.customer_key}"',
        'return ""',
        ("tests/governance/test_isolation_of_customers.py",),
    ),
    CodeMutant(
        *("guard", "writes outside an act pass", "apps/governance/guard.py"),
        "    if not _open.get():\n",
        "    if model is None:\n",
        ("tests/governance/test_guard.py",),
    ),
    CodeMutant(
        *("guard", "the admin's way of deleting passes", "apps/governance/guard.py"),
        "        refuse_ungoverned(self.model)\n        return super()._raw_delete(using)",
        "        return super()._raw_delete(using)",
        ("tests/governance/test_guard.py",),
    ),
    CodeMutant(
        *("visible_to", "without the tenant's filter", "apps/governance/guard.py"),
        "return self.filter(tenant_id=actor.tenant_id)",
        "return self.all()",
        ("tests/governance/test_both_walls.py",),
    ),
    CodeMutant(
        *("visible_to", "for an actor who does not act", "apps/governance/guard.py"),
        "if acting_actor() != actor:",
        "if actor is None:",
        DOOR,
    ),
    CodeMutant(
        *("floor", "grants lift it", "apps/governance/authority.py"),
        "    if actor.role not in POLICY[act].allowed:\n",
        "    if actor is None:\n",
        DOOR,
    ),
    CodeMutant(
        *("floor", "another tenant's row", "apps/governance/authority.py"),
        "    if actor.tenant_id != tenant_id:\n",
        "    if actor is None:\n",
        DOOR,
    ),
)


def database_mutants() -> Iterator[DatabaseMutant]:
    """Each protection that the catalog knows of, so that a new one joins by being there."""
    yield from _policies()
    for table in sorted(forced_tables()):
        without = f"ALTER TABLE {table} NO FORCE ROW LEVEL SECURITY"
        yield DatabaseMutant("FORCE", table, without, ALL_WALLS)
    yield from _triggers()
    yield from _references()
    yield from _grants()
    yield from _crossings()


def _policies() -> Iterator[DatabaseMutant]:
    rows = _ask("SELECT tablename, policyname, permissive FROM pg_policies WHERE with_check IS NOT NULL ORDER BY 1, 2")
    for table, name, permissive in rows:
        if permissive == "RESTRICTIVE":
            yield DatabaseMutant("policy", f"{table}: {name}", f"DROP POLICY {name} ON {table}", ALL_WALLS)
        elif name.endswith("_tenant"):
            opened = f"ALTER POLICY {name} ON {table} USING (true) WITH CHECK (true)"
            yield DatabaseMutant("policy", f"{table}: {name}", opened, WALLS)


def _triggers() -> Iterator[DatabaseMutant]:
    rows = _ask(
        "SELECT tgrelid::regclass::text, tgname FROM pg_trigger WHERE NOT tgisinternal"
        " AND (tgname LIKE 'append_only%%' OR tgname LIKE 'move_state%%') ORDER BY 1, 2"
    )
    for table, name in rows:
        yield DatabaseMutant("trigger", f"{table}: {name}", f"DROP TRIGGER {name} ON {table}", ALL_WALLS)


def _references() -> Iterator[DatabaseMutant]:
    rows = _ask(
        "SELECT conrelid::regclass::text, conname FROM pg_constraint WHERE conname LIKE '%%_in_tenant' ORDER BY 1, 2"
    )
    for table, name in rows:
        yield DatabaseMutant("composite key", name, f"ALTER TABLE {table} DROP CONSTRAINT {name}", WALLS)


def _grants() -> Iterator[DatabaseMutant]:
    agent = f"{settings.DATABASE_ROLE_PREFIX}_agent"
    for table in ("personas_persona", "skills_skill", "governance_proposal", "memory_memoryblock", "tenants_agent"):
        yield DatabaseMutant("column grants", table, f"GRANT UPDATE ON {table} TO {agent}", ALL_WALLS)
    for table in (table.name for table in tenant_tables()):
        given = f"GRANT TRUNCATE ON {table} TO {agent}"
        yield DatabaseMutant("column grants", f"{table}, TRUNCATE", given, WALLS)
    temporary = "DO $$ BEGIN EXECUTE format('GRANT SELECT ON SEQUENCE memory_agentmemory_id_seq TO %I', '{}'); END $$"
    yield DatabaseMutant("column grants", "a sequence", temporary.format(agent), ("tests/governance/test_holes.py",))


def _crossings() -> Iterator[DatabaseMutant]:
    for name, arguments in (("resolve_token", "text"), ("memberships_of", "bigint"), ("due_work", "integer")):
        open_to_all = f"GRANT EXECUTE ON FUNCTION {name}({arguments}) TO PUBLIC"
        yield DatabaseMutant("crossing", name, open_to_all, WALLS)
    members = (
        "CREATE OR REPLACE FUNCTION memberships_of(wanted bigint) RETURNS TABLE (tenant_id bigint, role text) LANGUAGE sql"
        " STABLE SECURITY DEFINER SET search_path = public, pg_temp AS"
        " 'SELECT member.tenant_id, member.role FROM tenants_membership AS member ORDER BY member.id'"
    )
    yield DatabaseMutant(
        "crossing", "memberships_of, of anybody", members, ("tests/surfaces/api/test_authentication.py",)
    )


def _ask(statement: str) -> list[tuple[str, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return [tuple(str(each) for each in row) for row in cursor.fetchall()]
