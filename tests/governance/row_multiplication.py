"""Many rows of every noun at once: copies that PostgreSQL makes of the rows a filled world has, each about other rows.

Nothing of the product is asked, for a hundred lawful rows of every noun would cost minutes; who reads them is asked everything.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from functools import cached_property
from hashlib import sha256
from typing import Any

import psycopg
from django.apps import apps
from django.db.models import Field, Model

from tests.support.database.catalog import TENANT_COLUMN, tenant_tables

Row = dict[str, Any]  # Any: whatever a column holds
DAY = re.compile(r"\d{4}-\d\d-\d\d")
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:")
HEX_CHARACTERS = 64
USER_TABLE = "tenants_user"
# One row per tenant; the table holds no second.
SINGLE_ROW_TABLES = {
    *("tenants_tenant", "tenants_tenantsettings", "governance_auditlink"),
    # A row for each role, and guardian's behind it.
    *("tenants_rolegrants", "tenants_tenantgroupobjectpermission"),
}
# What a list is asked for by, and what a person may be in: copies keep it.
FIXED_REFERENCES = {("conversations_message", "conversation_id"), ("tenants_invokableagent", "agent_id")}
# Where the name of a row differs from its neighbours in this column, since the other one says what it is.
VARYING_COLUMNS = {
    "tenants_memberlimit": "member_id",
    "tenants_agentgrants": "agent_id",
    "tenants_invokableagent": "callee_id",
}


@dataclass
class RowMultiplier:
    """A tenant whose tables grow. The connection is a superuser's, in a database that is thrown away."""

    connection: "psycopg.Connection[Any]"
    tenant_id: int
    _done: dict[str, list[int]] = field(default_factory=dict)
    _more: int = 0

    def grow(self, size: int, more: int = 0) -> None:
        """Let every tenant table have this many rows of the tenant, and so many more than it had."""
        self._done, self._more = {}, more
        self.connection.execute("SET session_replication_role = replica")
        for table in tenant_tables():
            self._grow_table(table.name, size)

    def _grow_table(self, table: str, size: int) -> list[int]:
        if table in self._done:
            return self._done[table]
        rows = self._rows(table)
        self._done[table] = [row["id"] for row in rows]
        missing = 0 if table in SINGLE_ROW_TABLES or not rows else max(size - len(rows), self._more)
        columns = self._columns(table)
        targets = self._references(table)
        about = {name: self._grow_table(target, size) for name, target in targets.items()}
        varying = set(self._varying_columns(table, about))
        for name in varying & set(about):
            named = {row[each] for each in about if targets[each] == targets[name] for row in rows}
            about[name] = [each for each in about[name] if each not in named]
            missing = min(missing, len(about[name]))
        copies = [self._copy_row(table, rows, at, about, varying) for at in range(max(missing, 0))]
        self._done[table] += self._write(table, columns, copies)
        return self._done[table]

    def _copy_row(self, table: str, rows: list[Row], at: int, about: dict[str, list[int]], varying: set[str]) -> Row:
        copy = dict(rows[at % len(rows)])
        number = at + len(rows)
        for name, ids in about.items():
            # Where it is free to, half of all is about the same row as its model, so that an agent sees much of it.
            if copy[name] is not None and ids and (table, name) not in FIXED_REFERENCES and (name in varying or at % 2):
                copy[name] = ids[at % len(ids)]
        for name in varying - set(about):
            # Numbers are counted from one row, for sums of different ones could be equal.
            copy[name] = vary_value(rows[0][name] if isinstance(copy[name], int) else copy[name], number)
        for name in self._users(table):
            copy[name] = self._another_user(copy[name], f"{table}-{number}") if copy[name] else None
        return copy

    def _varying_columns(self, table: str, about: dict[str, list[int]]) -> Iterator[str]:
        """A column of each unique key that may differ from row to row."""
        for key in self._unique_keys(table):
            if not set(key) & set(self._users(table)):
                yield VARYING_COLUMNS.get(table) or next(
                    iter(sorted(key, key=lambda name: self._preference(table, name, about)))
                )

    def _preference(self, table: str, name: str, about: dict[str, list[int]]) -> int:
        declared = self._fields(table).get(name)
        if name == "tenant_id" or declared is None or declared.choices:
            return 9
        if name in about:
            return 2
        return 0 if declared.get_internal_type() in {"CharField", "TextField", "SlugField"} else 1

    def _write(self, table: str, columns: list[str], copies: list[Row]) -> list[int]:
        if not copies:
            return []
        named = ", ".join(f'"{name}"' for name in columns)
        taken = ", ".join(f'row."{name}"' for name in columns)
        statement = (
            f"INSERT INTO {table} (id, {named}) SELECT nextval(pg_get_serial_sequence('{table}', 'id')), {taken}"  # noqa: S608  # from the catalog
            f" FROM jsonb_populate_recordset(NULL::{table}, %s::jsonb) AS row RETURNING id"
        )
        return [int(row[0]) for row in self.connection.execute(statement.encode(), [json.dumps(copies)])]

    def _another_user(self, user_id: int, named: str) -> int:
        """A person beside this one."""
        row = self.connection.execute(b"SELECT to_jsonb(row) FROM tenants_user AS row WHERE id = %s", [user_id])
        copy = row.fetchone()[0]  # type: ignore[index]  # the seed's reference holds
        copy["username"] = f"{copy['username']}-{named}"
        return self._write(USER_TABLE, self._columns(USER_TABLE), [copy])[0]

    def _rows(self, table: str) -> list[Row]:
        column = TENANT_COLUMN.get(table, "tenant_id")
        statement = f"SELECT to_jsonb(row) FROM {table} AS row WHERE {column} = %s ORDER BY id"  # noqa: S608  # from the catalog
        return [row for (row,) in self.connection.execute(statement.encode(), [self.tenant_id])]

    def _columns(self, table: str) -> list[str]:
        found = self.connection.execute(
            b"SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped"
            b" AND attgenerated = '' AND attname <> 'id'",
            [table],
        )
        return [name for (name,) in found]

    def _unique_keys(self, table: str) -> list[list[str]]:
        found = self.connection.execute(
            b"SELECT array_agg(part.attname::text) FROM pg_index AS key JOIN pg_attribute AS part ON part.attrelid = key.indrelid"
            b" AND part.attnum = ANY (key.indkey) WHERE key.indrelid = %s::regclass AND key.indisunique"
            b" AND NOT 'id' = ANY (SELECT attname FROM pg_attribute WHERE attrelid = key.indrelid AND attnum = ANY (key.indkey))"
            b" GROUP BY key.indexrelid",
            [table],
        )
        return [names for (names,) in found]

    def _references(self, table: str) -> dict[str, str]:
        """The columns that name a row of another tenant table, and which."""
        named = {each.name for each in tenant_tables()} - {table, "tenants_tenant"}
        found = {
            str(declared.column): declared.related_model._meta.db_table
            for declared in self._fields(table).values()
            if declared.is_relation and declared.related_model is not None
        }
        return {name: target for name, target in found.items() if target in named}

    def _users(self, table: str) -> list[str]:
        """The columns that name a person or a service user, and no two rows the same."""
        keys = {name for key in self._unique_keys(table) for name in key}
        return [
            name
            for name, declared in self._fields(table).items()
            if name in keys and declared.is_relation and declared.related_model._meta.db_table == USER_TABLE  # type: ignore[union-attr]
        ]

    def _fields(self, table: str) -> "dict[str, Field[Any, Any]]":
        model = self._models.get(table)
        return {str(each.column): each for each in model._meta.concrete_fields} if model else {}

    @cached_property
    def _models(self) -> dict[str, type[Model]]:
        return {model._meta.db_table: model for model in apps.get_models(include_auto_created=True)}


def vary_value(value: Any, number: int) -> Any:
    """Another value of the kind."""
    if isinstance(value, str) and DAY.fullmatch(value):
        return str(date.fromisoformat(value) - timedelta(days=number))
    if isinstance(value, str) and MOMENT.match(value):
        return str(datetime.fromisoformat(value) - timedelta(minutes=number))
    if isinstance(value, str):
        is_digest = len(value) == HEX_CHARACTERS and not set(value) - set("0123456789abcdef")
        return sha256(f"{value}{number}".encode()).hexdigest() if is_digest else f"{value}{number}"
    return value + 1_000 + number if isinstance(value, int) else value
