"""One real tool server for all tests of a process, and a tenant that may reach it."""

from collections.abc import Iterator
from ipaddress import ip_network

import pytest
from pytest_django import Settings

from apps.runtime.tools.tool_server_refresh import refresh_server
from apps.tools.models import ToolServer
from tests.support.factories.external_tools import make_tool_server
from tests.support.servers.tool_server import ToolServerProcess, running_tool_server
from tests.support.worlds.world import World, make_world


@pytest.fixture(scope="session")
def served() -> Iterator[ToolServerProcess]:
    """Start the server for the first test that needs it."""
    with running_tool_server() as server:
        yield server


@pytest.fixture
def reaching(settings: Settings) -> World:
    """Return a tenant of an installation that allows tool servers on this machine."""
    settings.REACHABLE_NETWORKS = (ip_network("127.0.0.0/8"),)
    return make_world()


@pytest.fixture
def asked_server(reaching: World, served: ToolServerProcess) -> ToolServer:
    """Return the row of the real server after its tools were listed."""
    made = make_tool_server(reaching, served.url, timeout_seconds=2, max_result_bytes=500)
    # Its two seconds are for tests of slow calls; a busy machine may exceed them elsewhere.
    assert any(refresh_server(made.pk, actor=reaching.operator).has_answered for _ in range(5))
    return made
