"""Fixtures of the MCP endpoint's tests."""

import pytest

from tests.support.drivers.mcp_client import door
from tests.support.worlds.world import World, make_world

__all__ = ["door"]


@pytest.fixture
def world(db: None) -> World:
    return make_world()
