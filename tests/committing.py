"""A database in which tests commit: cloned for one test, dropped after it."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count

import pytest
from psycopg import sql
from pytest_django import DjangoDbBlocker

from apps.launcher.postgres import Postgres
from tests.databases import clone_database, close_connections, point_to, run_as_superuser

_numbers = count(1)


@pytest.fixture
def committing(
    postgres: Postgres, template_database: str, django_db_setup: str, django_db_blocker: DjangoDbBlocker
) -> Iterator[str]:
    """Both connections go to a clone; what is written there stands for other threads, and for nobody afterwards."""
    with django_db_blocker.unblock(), committed_clone(postgres, template_database, django_db_setup) as name:
        yield name


@contextmanager
def committed_clone(server: Postgres, template: str, back_to: str) -> Iterator[str]:
    """A database like the template until the block ends; both connections go there, and back to the other one afterwards."""
    name = f"{back_to}_committing_{next(_numbers)}"
    clone_database(server, template, name)
    try:
        yield name
    finally:
        close_connections()
        point_to(server, back_to)
        run_as_superuser(server, sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))
