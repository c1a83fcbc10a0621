"""Figures by which two databases can be compared: the number of rows of each table, and a digest of them."""

from collections.abc import Iterator, Mapping
from typing import Any

import psycopg
from psycopg import sql

Connection = psycopg.Connection[tuple[Any, ...]]
Contents = Mapping[str, list[str]]

_TABLES = """
SELECT relname FROM pg_class
WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition ORDER BY relname
"""
# The digest does not depend on the order of rows. A row is cast to text, so that every column counts.
_DIGEST = "SELECT count(*)::text, coalesce(sum(hashtextextended(t::text, 0)::numeric), 0)::text FROM {} AS t"
# How the database sorts and compares texts. An index for one order is useless for another.
_COLLATION = """
SELECT pg_encoding_to_char(encoding), datlocprovider::text, coalesce(datlocale, datcollate)
FROM pg_database WHERE datname = current_database()
"""
_BYPASSES_ROW_SECURITY = "SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user"
_MIGRATIONS = "SELECT app, name FROM django_migrations ORDER BY app, name"

_ATTACHMENT_KEYS = (
    "SELECT DISTINCT file ->> 'key' FROM skills_skill, jsonb_array_elements(attachments) AS file ORDER BY 1"
)


def table_digests(connection: Connection) -> Contents:
    """Return each table with its number of rows and their digest."""
    connection.execute("SET LOCAL timezone = 'UTC'")
    return {table: _table_digest(connection, table) for table in tables(connection)}


def tables(connection: Connection) -> list[str]:
    """Return the names of the product's tables, sorted."""
    return [str(name) for (name,) in connection.execute(_TABLES).fetchall()]


def collation(connection: Connection) -> list[str]:
    """Return encoding, provider and name of the database's collation."""
    [found] = connection.execute(_COLLATION).fetchall()
    return [str(each) for each in found]


def server_major(connection: Connection) -> int:
    """Return the server's major version, such as 18."""
    return connection.info.server_version // 10_000


def bypasses_row_security(connection: Connection) -> bool:
    """Whether this login sees all rows despite row security."""
    return connection.execute(_BYPASSES_ROW_SECURITY).fetchone() == (True,)


def migrations(connection: Connection) -> list[str]:
    """Return every migration that was applied to the database."""
    return [f"{app}.{name}" for app, name in connection.execute(_MIGRATIONS).fetchall()]


def attachment_keys(connection: Connection) -> list[str]:
    """Return the keys of the files that skills name."""
    return [str(key) for (key,) in connection.execute(_ATTACHMENT_KEYS).fetchall()]


def differences(wanted: Contents, found: Contents) -> Iterator[str]:
    """Yield a sentence for each table whose contents differ."""
    for table in sorted({*wanted, *found}):
        if table not in found:
            yield f"{table} is missing."
        elif table not in wanted:
            yield f"{table} is not in the backup."
        elif wanted[table] != found[table]:
            yield f"{table} has {found[table][0]} of {wanted[table][0]} rows, or some rows differ."


def _table_digest(connection: Connection, table: str) -> list[str]:
    [(rows, digest)] = connection.execute(sql.SQL(_DIGEST).format(sql.Identifier("public", table))).fetchall()
    return [str(rows), str(digest)]
