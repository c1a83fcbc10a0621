"""The databases of tests: cloned from a template that is set up as an installation's, and dropped afterwards."""

import psycopg
from django.db import connections
from psycopg import sql

from apps.launcher.postgres import Postgres
from apps.tenants.database_roles import forbid_session_objects
from tests.support.build_counts import CLONES, counts


def clone_database(server: Postgres, template: str, name: str) -> None:
    """Make a database like the template and point Django's connections to it."""
    close_connections()
    counts[CLONES] += 1
    run_as_superuser(server, sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))
    # Copied as files, because writing each page to the log first takes twice as long.
    clone = sql.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY FILE_COPY")
    run_as_superuser(server, clone.format(sql.Identifier(name), sql.Identifier(template)))
    # A database's own rights are not cloned with it.
    with psycopg.connect(server.url_for("postgres", database=name), autocommit=True) as connection:
        forbid_session_objects(connection)
    point_to(server, name)


def point_to(server: Postgres, name: str) -> None:
    """Point both of Django's connections to this server and database."""
    host = server.url_for("postgres", database=name).partition("?host=")[2]
    for alias in ("default", "owner"):
        connections[alias].settings_dict.update(NAME=name, HOST=host.replace("%2F", "/"))


def close_connections() -> None:
    """Close all connections: a database with clients can be neither cloned nor dropped."""
    for alias in ("default", "owner"):
        connections[alias].close()


def disable_autovacuum(server: Postgres) -> None:
    """Switch off the server's own upkeep: otherwise statistics change, rows move, and a clone looks changed."""
    run_as_superuser(server, sql.SQL("ALTER SYSTEM SET autovacuum = off").format())
    run_as_superuser(server, sql.SQL("SELECT pg_reload_conf()").format())


def run_as_superuser(server: Postgres, statement: sql.Composed) -> None:
    """Run one statement outside any transaction."""
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute(statement)
