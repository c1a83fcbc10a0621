"""The tenant a test is about, and those who ask for it."""

import pytest

from tests.support.drivers.rest_client import RestClient, agent_client, person_client
from tests.support.worlds.world import World, make_world

__all__ = ["admin", "bot", "operator", "other", "world"]


@pytest.fixture
def world(db: None) -> World:
    return make_world()


@pytest.fixture
def other(db: None) -> World:
    """Another tenant, which must stay unseen."""
    return make_world()


@pytest.fixture
def bot(world: World) -> RestClient:
    """The agent, by its token."""
    return agent_client(world)


@pytest.fixture
def operator(world: World) -> RestClient:
    """The operator, by the console's session."""
    return person_client(world.operator_user)


@pytest.fixture
def admin(world: World) -> RestClient:
    """The admin, by the console's session."""
    return person_client(world.admin_user)
