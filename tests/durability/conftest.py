"""Fixtures of the proofs that a worker may die at any line."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from apps.launcher.postgres import Postgres
from tests.committing import committing
from tests.durability.invariants import watch
from tests.standing_in import standin, standing_in

__all__ = ["committing", "standin", "standing_in"]


@pytest.fixture
def raw(committing: str, postgres: Postgres) -> Iterator[psycopg.Connection[Any]]:
    """The committing database as superuser, with a log of what turns do."""
    with psycopg.connect(postgres.url_for("postgres", database=committing)) as connection:
        watch(connection)
        yield connection
