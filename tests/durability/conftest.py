"""Fixtures of the proofs that a worker may die at any line."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from apps.launcher.postgres import Postgres
from tests.committing import committing
from tests.durability.invariants import watch
from tests.durability.stage import Stage, staged
from tests.standing_in import StandIn, standin, standing_in

__all__ = ["committing", "standin", "standing_in"]


@pytest.fixture
def raw(committing: str, postgres: Postgres) -> Iterator[psycopg.Connection[Any]]:
    """The committing database as superuser, with a log of what turns do."""
    with psycopg.connect(postgres.url_for("postgres", database=committing)) as connection:
        watch(connection)
        yield connection


@pytest.fixture
def stage(committing: str, postgres: Postgres, standin: StandIn, tmp_path: Path) -> Iterator[Stage]:
    """A stage for workers that die, in a database of its own."""
    with staged(postgres, committing, standin, tmp_path) as stage:
        yield stage
