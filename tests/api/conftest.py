"""The tenant a test is about, and those who ask for it."""

import pytest

from tests.support.drivers.rest_client import Asker, agent_of, person_of
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
def bot(world: World) -> Asker:
    """The agent, by its token."""
    return agent_of(world)


@pytest.fixture
def operator(world: World) -> Asker:
    """The operator, by the console's session."""
    return person_of(world.operator_user)


@pytest.fixture
def admin(world: World) -> Asker:
    """The admin, by the console's session."""
    return person_of(world.admin_user)
