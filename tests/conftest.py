"""What every test stands on: a real PostgreSQL, with its roles and walls, cloned for tests that commit."""

import gc
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import psycopg
import pytest
from django.conf import settings
from django.core.management import call_command
from django.db import connections
from psycopg import sql
from pytest_django import DjangoDbBlocker

from apps.launcher.postgres import Postgres
from apps.tenants.roles import forbid_leavings
from tests.factories import make_world
from tests.folders import own_folder
from tests.settings import PREFIX
from tests.standing_worlds import STANDING


@contextmanager
def untraced() -> Iterator[None]:
    """Without coverage: in a worker of xdist, pytest-cov's own pause leaves the tracer of subprocesses on."""
    tracer = sys.gettrace()
    sys.settrace(None)
    try:
        yield
    finally:
        sys.settrace(tracer)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Let tests that only walk what others reach run several times faster."""
    with untraced() if item.get_closest_marker("unmeasured") else nullcontext():
        return (yield)


def pytest_collection_finish() -> None:
    """What was collected stays until the end: nobody need look again and again whether it is garbage."""
    gc.freeze()


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A throwaway server of this test process alone, or the one that `tests.proof_mutants` lets stand."""
    if home := os.environ.get("STANDING_HOME", ""):
        standing = Postgres(Path(home), throwaway=True)
        standing.start()
        yield standing
        close_connections()
        return
    with throwaway_server() as server:
        yield server


@contextmanager
def throwaway_server() -> Iterator[Postgres]:
    """A server that is gone afterwards, its data included."""
    home = own_folder()
    server = Postgres(home, throwaway=True)
    server.start()
    try:
        yield server
    finally:
        for name in connections:
            connections[name].close()
        server.stop()
        shutil.rmtree(home, ignore_errors=True)


@pytest.fixture(scope="session")
def template_database(postgres: Postgres, django_db_blocker: DjangoDbBlocker) -> str:
    """The migrated database that others are cloned from."""
    if template := os.environ.get("STANDING_TEMPLATE", ""):
        point_to(postgres, template)
        settings.DATABASE_OWNER_URL = postgres.url_for("postgres", database=template)
        return template
    with django_db_blocker.unblock(), untraced():
        return make_template(postgres)


@pytest.fixture(scope="session")
def django_db_setup(postgres: Postgres, template_database: str, django_db_blocker: DjangoDbBlocker) -> str:
    """The database of tests that roll back, with the worlds that stand in it."""
    name = os.environ.get("STANDING_NAME", PREFIX)
    clone_database(postgres, template_database, name)
    if name == PREFIX:
        with django_db_blocker.unblock():
            STANDING.put_up(name, [make_world() for _ in range(3)])
    return name


@pytest.fixture(autouse=True)
def standing_worlds() -> None:
    """Every test finds the worlds as they were put up."""
    STANDING.begin()


def make_template(server: Postgres) -> str:
    """A database that stands as an installation's does."""
    name = f"{PREFIX}_template"
    run_as_superuser(server, sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    point_to(server, name)
    settings.DATABASE_OWNER_URL = server.url_for("postgres", database=name)
    call_command("setup_database", verbosity=0, stdout=_Nowhere())
    close_connections()
    return name


def clone_database(server: Postgres, template: str, name: str) -> None:
    """Make a database like the template and let Django's connections go there."""
    close_connections()
    run_as_superuser(server, sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))
    run_as_superuser(
        server, sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(sql.Identifier(name), sql.Identifier(template))
    )
    # A database's own rights are not cloned with it.
    with psycopg.connect(server.url_for("postgres", database=name), autocommit=True) as connection:
        forbid_leavings(connection)
    point_to(server, name)


def point_to(server: Postgres, name: str) -> None:
    """Let both of Django's connections use this server and database."""
    host = server.url_for("postgres", database=name).partition("?host=")[2]
    for alias in ("default", "owner"):
        connections[alias].settings_dict.update(NAME=name, HOST=host.replace("%2F", "/"))


def close_connections() -> None:
    """A database with clients can be neither cloned nor dropped."""
    for alias in ("default", "owner"):
        connections[alias].close()


def run_as_superuser(server: Postgres, statement: sql.Composed) -> None:
    """One statement outside any transaction."""
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute(statement)


class _Nowhere:
    def write(self, text: str) -> int:
        return len(text)

    def flush(self) -> None:
        """Nothing is kept."""
