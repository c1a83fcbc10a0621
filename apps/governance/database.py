"""The database's half of the promise, as migration operations: row security, grants per role, triggers, composite keys.

Roles are named `<prefix>_owner|operator|agent|worker|staff|login|crossing`, the prefix being `DATABASE_ROLE_PREFIX`. All SQL
here is built from constants of migrations, never from anything a request carries.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from django.conf import settings
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ProjectState

ROLES = ("owner", "operator", "agent", "worker", "staff", "login", "crossing")
# Where a reference carries the tenant, Django's plain one beside it only tells which ids exist elsewhere.
ONE_REFERENCE_EACH: Final = """
DO $$ DECLARE plain record; BEGIN
    FOR plain IN
        SELECT key.conname, key.conrelid::regclass AS source FROM pg_constraint AS key
            JOIN pg_constraint AS composed ON composed.conrelid = key.conrelid AND composed.contype = 'f'
                AND array_length(composed.conkey, 1) = 2 AND composed.conkey[2] = key.conkey[1]
                AND composed.conname LIKE '%_in_tenant'
            WHERE key.contype = 'f' AND array_length(key.conkey, 1) = 1
    LOOP
        EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', plain.source, plain.conname);
    END LOOP;
END $$"""


def role_name(role: str) -> str:
    """The database role behind one of `ROLES`."""
    if role not in ROLES:
        raise ValueError(f"There is no database role {role}.")
    return f"{settings.DATABASE_ROLE_PREFIX}_{role}"


def with_roles(sql: str) -> str:
    """Replace `@agent@` and its like by the quoted role names."""
    for role in ROLES:
        sql = sql.replace(f"@{role}@", f'"{role_name(role)}"')
    return sql


class RoleSQL(Operation):
    """Hand-written SQL in which `@operator@`, `@agent@`, ... stand for the installation's roles."""

    reduces_to_sql = True
    reversible = False

    def __init__(self, sql: str) -> None:
        self.sql = sql

    def state_forwards(self, app_label: str, state: ProjectState) -> None:
        """Models do not change."""

    def database_forwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        """Run the SQL as it stands, without parameters."""
        del app_label, from_state, to_state
        schema_editor.execute(with_roles(self.sql), params=None)

    def describe(self) -> str:
        """What `migrate --plan` prints."""
        return f"Run SQL: {self.sql.strip().splitlines()[0][:60]}"


class DueWork(RoleSQL):
    """What a kind of work gives when `due_work` asks: (tenant id, row id, since when) of each row that waits, in any tenant."""

    def __init__(self, kind: str, statement: str) -> None:
        super().__init__(
            "SET LOCAL ROLE @crossing@;\n"
            f"CREATE OR REPLACE FUNCTION due_of_{kind}() RETURNS TABLE (tenant_id bigint, row_id bigint, since timestamptz)"
            f" LANGUAGE sql STABLE SET search_path = public, pg_temp AS $${statement}$$;\n"
            f"REVOKE ALL ON FUNCTION due_of_{kind}() FROM PUBLIC;\nRESET ROLE"
        )


@dataclass(frozen=True)
class Wall:
    """What each database role may do with a tenant's table, and which of the tenant's rows an agent reaches.

    `agent_checks` is what a row that an agent writes must fulfil besides. `states` maps each state to those it may move to;
    the first one named is the only one a row may be born in.
    """

    operator: str = "SELECT, INSERT, UPDATE"
    worker: str = "SELECT"
    agent: str = "SELECT"
    staff: str = "SELECT"
    tenant: str = "tenant_id = app_tenant()"
    agent_rows: str = ""
    agent_checks: str = ""
    agent_updates: str = ""
    agent_deletes: str = ""
    crossing: str = ""
    versioned: bool = True
    append_only: bool = False
    states: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    state_column: str = "status"
    extra: tuple[str, ...] = field(default_factory=tuple)


class RaiseWall(RoleSQL):
    """Put one tenant table behind its wall: FORCE row security, grants, the version stamp, the composite key to refer to."""

    def __init__(self, table: str, wall: Wall) -> None:
        self.table, self.wall = table, wall
        super().__init__(wall_sql(table, wall))

    def deconstruct(self) -> tuple[str, list[Any], Mapping[str, Any]]:  # type: ignore[override]  # Django's stub wants dict
        """As written in the migration."""
        return type(self).__name__, [self.table, self.wall], {}

    def describe(self) -> str:
        """What `migrate --plan` prints."""
        return f"Raise the tenant wall around {self.table}"


def wall_sql(table: str, wall: Wall) -> str:
    """The statements behind `RaiseWall`."""
    lines = [
        f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY",
        f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY",
        f"CREATE POLICY {table}_tenant ON {table} USING ({wall.tenant}) WITH CHECK ({wall.tenant})",
        *_rights(table, wall),
        *_triggers(table, wall),
        *wall.extra,
    ]
    return ";\n".join(lines)


def _rights(table: str, wall: Wall) -> list[str]:
    lines = []
    given = (("operator", wall.operator), ("worker", wall.worker), ("agent", wall.agent), ("staff", wall.staff))
    for role, rights in given:
        if rights:
            lines.append(f"GRANT {rights} ON {table} TO @{role}@")
    if wall.agent_rows:
        rows = wall.agent_rows
        checks = f"({rows}) AND ({wall.agent_checks})" if wall.agent_checks else rows
        lines.append(
            f"CREATE POLICY {table}_agent ON {table} AS RESTRICTIVE TO @agent@ USING ({rows}) WITH CHECK ({checks})"
        )
    for verb, rows in (("UPDATE", wall.agent_updates), ("DELETE", wall.agent_deletes)):
        if rows:
            lines.append(
                f"CREATE POLICY {table}_agent_{verb.lower()} ON {table} AS RESTRICTIVE FOR {verb} TO @agent@ USING ({rows})"
            )
    if wall.crossing:
        lines += [
            f"GRANT {wall.crossing} ON {table} TO @crossing@",
            f"CREATE POLICY {table}_crossing ON {table} TO @crossing@ USING (true) WITH CHECK (true)",
        ]
    return lines


def _triggers(table: str, wall: Wall) -> list[str]:
    lines = []
    if wall.versioned:
        lines.append(
            f"CREATE TRIGGER stamp_version BEFORE UPDATE ON {table} FOR EACH ROW EXECUTE FUNCTION stamp_version()"
        )
    if wall.append_only:
        lines.append(
            f"CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON {table}"
            " FOR EACH ROW EXECUTE FUNCTION refuse_change()"
        )
    if wall.states:
        moves = " ".join(f"{before}>{after}" for before, afters in wall.states.items() for after in afters)
        born = next(iter(wall.states))
        lines.append(
            f"CREATE TRIGGER move_state BEFORE INSERT OR UPDATE ON {table} FOR EACH ROW"
            f" EXECUTE FUNCTION move_state('{wall.state_column}', '{born}', '{moves}')"
        )
    return lines


class ComposeKey(RoleSQL):
    """Make (tenant, id) of a table something that composite foreign keys can refer to."""

    def __init__(self, table: str) -> None:
        self.table = table
        super().__init__(f"ALTER TABLE {table} ADD CONSTRAINT {table}_tenant_row UNIQUE (tenant_id, id)")

    def deconstruct(self) -> tuple[str, list[Any], Mapping[str, Any]]:  # type: ignore[override]  # Django's stub wants dict
        """As written in the migration."""
        return type(self).__name__, [self.table], {}


class ComposeForeignKey(RoleSQL):
    """A reference that cannot leave the tenant, in the place of Django's own, which checks the id alone and past row security."""

    def __init__(self, table: str, column: str, target: str) -> None:
        self.parts = (table, column, target)
        super().__init__(
            f"ALTER TABLE {table} ADD CONSTRAINT {table}_{column}_in_tenant FOREIGN KEY (tenant_id, {column})"
            f" REFERENCES {target} (tenant_id, id) DEFERRABLE INITIALLY DEFERRED;\n{ONE_REFERENCE_EACH}"
        )

    def deconstruct(self) -> tuple[str, list[Any], Mapping[str, Any]]:  # type: ignore[override]  # Django's stub wants dict
        """As written in the migration."""
        return type(self).__name__, list(self.parts), {}


class UniqueInTenant(RoleSQL):
    """Let Django's unique column be unique within its tenant: a violation would tell that another tenant has such a row."""

    def __init__(self, table: str, column: str) -> None:
        self.parts = (table, column)
        name = f"{table}_{column}_key"
        super().__init__(
            f"ALTER TABLE {table} DROP CONSTRAINT {name}, ADD CONSTRAINT {name} UNIQUE (tenant_id, {column})"
        )

    def deconstruct(self) -> tuple[str, list[Any], Mapping[str, Any]]:  # type: ignore[override]  # Django's stub wants dict
        """As written in the migration."""
        return type(self).__name__, list(self.parts), {}
