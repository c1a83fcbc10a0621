"""A pool of database clones for tests that commit: to copy a database and to drop it takes a second of processor time.

Rows that a test wrote are deleted after it. A clone is dropped if a test changed anything else: row security, a right, a
statistic, a row of the template, or the size of the files by very many rows.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Final

import psycopg
from psycopg import sql

from apps.launcher.postgres import Postgres
from tests.support.database.clones import clone_database, close_connections, point_to, run_as_superuser

Connection = psycopg.Connection[tuple[Any, ...]]  # Any: whatever a statement selects

MOST_ROWS: Final = 5_000
_ROW_TABLES: Final = "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"
_SEQUENCES: Final = "SELECT schemaname || '.' || sequencename, last_value FROM pg_sequences"
_RESET_SEQUENCE: Final = "SELECT setval(%s, coalesce(%s, 1), %s)"
# Clients only: the server's own workers are left alone.
_CLOSE_SESSIONS: Final = (
    "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity"
    " WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
)
# Everything of a database that is not a row of a table. The size of relations and columns is left out.
_SCHEMA_FINGERPRINT: Final = """
SELECT count(*), sum(hashtextextended(said, 0)) FROM (
    SELECT p::text FROM pg_proc p WHERE oid >= 16384 OR proacl IS NOT NULL
    UNION ALL SELECT t::text FROM pg_trigger t
    UNION ALL SELECT p::text FROM pg_policy p
    UNION ALL SELECT c::text FROM pg_constraint c
    UNION ALL SELECT i::text FROM pg_index i WHERE indexrelid >= 16384
    UNION ALL SELECT d::text FROM pg_attrdef d
    UNION ALL SELECT r::text FROM pg_rewrite r WHERE oid >= 16384
    UNION ALL SELECT n::text FROM pg_namespace n
    UNION ALL SELECT e::text FROM pg_extension e
    UNION ALL SELECT l::text FROM pg_largeobject_metadata l
    UNION ALL SELECT ROW(oid, relname, relkind, relowner, relacl, relrowsecurity, relforcerowsecurity, reloptions)::text
        FROM pg_class WHERE oid >= 16384 AND relkind <> 't'
    UNION ALL SELECT ROW(attrelid, attname, atttypid, attnotnull, attacl, attisdropped)::text
        FROM pg_attribute WHERE attrelid >= 16384 AND attnum > 0
    UNION ALL SELECT ROW(starelid, staattnum)::text FROM pg_statistic WHERE starelid >= 16384
    UNION ALL SELECT datacl::text FROM pg_database WHERE datname = current_database()
    UNION ALL SELECT s.setconfig::text FROM pg_db_role_setting s JOIN pg_database d ON d.oid = s.setdatabase
        WHERE d.datname = current_database()
) AS everything (said)
"""


@dataclass
class ClonePool:
    """The clones of this test process. Each is used by one test at a time."""

    server: Postgres
    template: str
    idle: list[str] = field(default_factory=list)
    made: Iterator[int] = field(default_factory=lambda: count(1))
    as_cloned: "_CloneState | None" = None

    @contextmanager
    def lend(self, back_to: str) -> Iterator[str]:
        """Lend a database like the template until the block ends; both connections go there, and to `back_to` afterwards."""
        name = self.idle.pop() if self.idle else self._make_clone(back_to)
        close_connections()
        point_to(self.server, name)
        try:
            yield name
        finally:
            close_connections()
            point_to(self.server, back_to)
            self._reclaim(name)

    def drop(self) -> None:
        """Drop all clones: a server may outlive this process."""
        while self.idle:
            self._drop_clone(self.idle.pop())

    def _make_clone(self, back_to: str) -> str:
        name = f"{back_to}_committing_{next(self.made)}"
        clone_database(self.server, self.template, name)
        if self.as_cloned is None:
            with self._connect(name) as connection:
                self.as_cloned = _CloneState.of(connection)
        return name

    def _reclaim(self, name: str) -> None:
        with self._connect(name) as connection:
            connection.execute(_CLOSE_SESSIONS)
            is_as_before = self.as_cloned is not None and self.as_cloned.restore(connection)
        if is_as_before:
            self.idle.append(name)
        else:
            self._drop_clone(name)

    def _connect(self, name: str) -> Connection:
        return psycopg.connect(self.server.url_for("postgres", database=name), autocommit=True)

    def _drop_clone(self, name: str) -> None:
        run_as_superuser(self.server, sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@dataclass(frozen=True, slots=True)
class _CloneState:
    """The state of a clone before a test: its schema, its rows, and the values of its sequences."""

    built: tuple[Any, ...]  # Any: a number and a hash
    empty: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]  # Any: a number and a hash of each table
    numbers: dict[str, int | None]

    @classmethod
    def of(cls, connection: Connection) -> "_CloneState":
        """Read the state."""
        tables = sorted(str(name) for (name,) in connection.execute(_ROW_TABLES))
        filled = _filled_tables(connection, tables)
        empty = tuple(table for table in tables if table not in filled)
        return cls(_schema_fingerprint(connection), empty, _rows(connection, filled), _sequence_values(connection))

    def restore(self, connection: Connection) -> bool:
        """Delete rows that a test wrote into empty tables. Return False if anything else has changed."""
        if _schema_fingerprint(connection) != self.built:
            return False
        # A superuser's setting: no trigger refuses to delete rows, and no key checks references to them.
        connection.execute("SET session_replication_role = replica")
        filled = _filled_tables(connection, self.empty)
        deleted = [connection.execute(sql.SQL("DELETE FROM {}").format(sql.Identifier(table))) for table in filled]
        for name, last in _sequence_values(connection).items():
            if last != self.numbers[name]:
                connection.execute(_RESET_SEQUENCE, (name, self.numbers[name], self.numbers[name] is not None))
        return (
            sum(each.rowcount for each in deleted) <= MOST_ROWS and _rows(connection, self._initial_tables) == self.rows
        )

    @property
    def _initial_tables(self) -> list[str]:
        return [name for name, *_ in self.rows]


def _filled_tables(connection: Connection, tables: Sequence[str]) -> list[str]:
    asked = sql.SQL("SELECT {} WHERE EXISTS (SELECT FROM {})")
    each = [asked.format(sql.Literal(table), sql.Identifier(table)) for table in tables]
    return sorted(str(name) for (name,) in connection.execute(sql.SQL(" UNION ALL ").join(each)))


def _rows(connection: Connection, tables: Sequence[str]) -> tuple[tuple[Any, ...], ...]:
    asked = sql.SQL("SELECT {}, count(*), sum(hashtextextended(t::text, 0)) FROM {} t")
    each = [asked.format(sql.Literal(table), sql.Identifier(table)) for table in tables]
    return tuple(sorted(connection.execute(sql.SQL(" UNION ALL ").join(each)).fetchall()))


def _schema_fingerprint(connection: Connection) -> tuple[Any, ...]:
    found = connection.execute(_SCHEMA_FINGERPRINT).fetchone()
    assert found is not None
    return found


def _sequence_values(connection: Connection) -> dict[str, int | None]:
    return {str(name): last for name, last in connection.execute(_SEQUENCES)}
