"""Fixtures of the MCP endpoint's tests."""

import pytest

from tests.support.drivers.mcp_client import mcp_server
from tests.support.worlds.world import World, make_world

__all__ = ["mcp_server"]


@pytest.fixture
def world(db: None) -> World:
    return make_world()
