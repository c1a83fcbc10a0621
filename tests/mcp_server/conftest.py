"""Fixtures of the MCP endpoint's tests."""

import pytest

from tests.factories import World, make_world
from tests.mcping import door

__all__ = ["door"]


@pytest.fixture
def world(db: None) -> World:
    return make_world()
