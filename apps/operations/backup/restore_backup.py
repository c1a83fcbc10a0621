"""Restores a backup into a new database, which replaces the old one only after it was compared with the manifest."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import psycopg
from django.conf import settings
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from apps.operations.backup.archive import DUMP, BackupRefused, Manifest
from apps.operations.backup.database_digest import collation, differences, server_major, table_digests, tables
from apps.operations.backup.postgres_programs import run_program
from apps.tenants.database_roles import ensure_roles

RESTORING_SUFFIX: Final = "_restoring"
_DIFFERENCES_SHOWN: Final = 5
# A database that every server has, to connect to while another is created or dropped.
_MAINTENANCE: Final = "postgres"


def restore_to_new_database(folder: Path, manifest: Manifest, name: str) -> None:
    """Create a database of this name from an unpacked backup, and compare every row with the manifest.

    A database of this name that was left over is dropped first. One that does not match the manifest is dropped again.
    """
    _refuse_other_server(manifest)
    drop_database(name)
    with _maintenance_connection() as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    try:
        _load_dump(folder, manifest, name)
    except BaseException:
        drop_database(name)
        raise


def replace_database(name: str, place: str) -> None:
    """Replace the existing database with a restored one. The existing one is deleted permanently."""
    drop_database(place)
    with _maintenance_connection() as connection:
        connection.execute(
            sql.SQL("ALTER DATABASE {} RENAME TO {}").format(sql.Identifier(name), sql.Identifier(place))
        )


def drop_database(name: str) -> None:
    """Drop a database despite open connections. A missing one is no error."""
    with _maintenance_connection() as connection:
        connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))


def has_tables(name: str) -> bool:
    """Whether a database of this name exists and has tables."""
    with _maintenance_connection() as connection:
        if connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [name]).fetchone() is None:
            return False
    with psycopg.connect(owner_url_of(name)) as connection:
        return bool(tables(connection))


def owner_url_of(name: str) -> str:
    """Return the owner's URL for another database of the same server."""
    return make_conninfo(settings.DATABASE_OWNER_URL, dbname=name)


def database_name() -> str:
    """Return the name of this installation's database."""
    return str(conninfo_to_dict(settings.DATABASE_OWNER_URL)["dbname"])


def _load_dump(folder: Path, manifest: Manifest, name: str) -> None:
    url, login = owner_url_of(name), settings.DATABASES["default"]
    with psycopg.connect(url) as connection:
        if collation(connection) != manifest.sorting:
            raise BackupRefused(
                f"This server sorts text by {' '.join(collation(connection))}, and the server of the backup by"
                f" {' '.join(manifest.sorting)}. Create the server's cluster with that order; see docs/operations.md."
            )
    # The dump names roles, which belong to the server and not to the database.
    ensure_roles(url, login_user=login["USER"], login_password=login["PASSWORD"])
    words = ("--exit-on-error", f"--dbname={name}", str(folder / DUMP))
    run_program("pg_restore", words, url, server_major=manifest.server_major)
    with psycopg.connect(url) as connection:
        wrong = list(differences(manifest.contents, table_digests(connection)))
    if wrong:
        raise BackupRefused(f"The restored database differs from the backup: {' '.join(wrong[:_DIFFERENCES_SHOWN])}")


def _refuse_other_server(manifest: Manifest) -> None:
    with _maintenance_connection() as connection:
        major = server_major(connection)
    if major < manifest.server_major:
        raise BackupRefused(f"The backup is from PostgreSQL {manifest.server_major}, and this server is {major}.")


@contextmanager
def _maintenance_connection() -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
    with psycopg.connect(owner_url_of(_MAINTENANCE), autocommit=True) as connection:
        yield connection
