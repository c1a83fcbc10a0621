"""Fixtures of the kernel's tests."""

from collections.abc import Iterator
from copy import deepcopy

import pytest
from psycopg import sql
from pytest_django import DjangoDbBlocker

from apps.launcher.postgres import Postgres
from tests.support.coverage_tracing import without_tracing
from tests.support.database.clones import clone_database, close_connections, point_to, run_as_superuser
from tests.support.database.committed_worlds import COMMITTED_WORLDS
from tests.support.drivers.mcp_client import mcp_server
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.filled_world import Filled, fill_world
from tests.support.worlds.world import make_world

__all__ = ["mcp_server"]


@pytest.fixture(scope="session")
def standing_filled(
    postgres: Postgres,
    template_database: str,
    django_db_setup: str,
    standing_in: StandIn,
    django_db_blocker: DjangoDbBlocker,
) -> Iterator[tuple[str, Filled]]:
    """A database in which a filled tenant stands, beside worlds to lend."""
    name = f"{django_db_setup}_filled"
    with django_db_blocker.unblock(), without_tracing():
        clone_database(postgres, template_database, name)
        standing_in.forget()
        filled = fill_world(standing_in.backend)
        COMMITTED_WORLDS.put_up(name, [make_world() for _ in range(3)])
        close_connections()
        point_to(postgres, django_db_setup)
    yield name, filled
    run_as_superuser(postgres, sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@pytest.fixture(scope="module")
def beside_filled(
    standing_filled: tuple[str, Filled], postgres: Postgres, django_db_setup: str, django_db_blocker: DjangoDbBlocker
) -> Iterator[None]:
    """A module's tests roll back in that database, for filling a tenant takes longer than most of them."""
    with django_db_blocker.unblock():
        close_connections()
        point_to(postgres, standing_filled[0])
        yield
        close_connections()
        point_to(postgres, django_db_setup)


@pytest.fixture
def filled(standing_filled: tuple[str, Filled], beside_filled: None) -> Filled:
    """A tenant in which everything has happened once."""
    return deepcopy(standing_filled[1])


@pytest.fixture
def victim(filled: Filled) -> Filled:
    """Whom nobody of another tenant may notice."""
    return filled
