"""A database in which tests commit: cloned for one test, dropped after it."""

from collections.abc import Iterator
from itertools import count

import pytest
from psycopg import sql
from pytest_django import DjangoDbBlocker

from apps.launcher.postgres import Postgres
from tests.conftest import clone_database, close_connections, point_to, run_as_superuser

_numbers = count(1)


@pytest.fixture
def committing(
    postgres: Postgres, template_database: str, django_db_setup: str, django_db_blocker: DjangoDbBlocker
) -> Iterator[str]:
    """Both connections go to a clone; what is written there stands for other threads, and for nobody afterwards."""
    name = f"{django_db_setup}_committing_{next(_numbers)}"
    with django_db_blocker.unblock():
        clone_database(postgres, template_database, name)
        try:
            yield name
        finally:
            close_connections()
            point_to(postgres, django_db_setup)
    run_as_superuser(postgres, sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))
