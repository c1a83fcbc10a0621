"""The MCP endpoint over real HTTP, called by the official client: a server in a thread of its own, on the test's connection.

The server therefore sees uncommitted rows of a test, and its own writes are rolled back with the test.
"""

import asyncio
import socket
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import httpx2
import pytest
import uvicorn
from django.core.asgi import get_asgi_application
from django.db import connections
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult, TextContent

from apps.mcp_server.asgi_dispatcher import AsgiDispatcher
from tests.support.timeouts import PATIENCE_SECONDS

Result = TypeVar("Result")
GENERATIONS = {"new": "auto", "old": "legacy"}


@dataclass(frozen=True, slots=True)
class McpToolAnswer:
    """The answer of a tool."""

    text: str
    data: Any
    is_refusal: bool

    @property
    def code(self) -> str:
        """The code of the refusal; empty if the answer is not one."""
        return str(self.data["code"]) if self.is_refusal else ""


@dataclass(frozen=True, slots=True)
class McpTestServer:
    """The address of the endpoint, and whether it has finished all requests."""

    url: str
    is_idle: Callable[[], bool] = lambda: True

    def call(
        self, token: str, name: str, arguments: Mapping[str, Any] | None = None, mode: str = "auto"
    ) -> McpToolAnswer:
        """Call one tool over a connection of its own."""

        async def call(client: Client) -> CallToolResult:
            return await client.call_tool(name, dict(arguments or {}))

        answer = self.connected(token, call, mode)
        [content] = answer.content
        assert isinstance(content, TextContent)
        return McpToolAnswer(content.text, answer.structured_content, bool(answer.is_error))

    def connected(self, token: str, work: Callable[[Client], Awaitable[Result]], mode: str = "auto") -> Result:
        """Do something as a client of this generation of the protocol."""
        try:
            return asyncio.run(asyncio.wait_for(self._work(token, work, mode), PATIENCE_SECONDS))
        finally:
            self._wait()

    def _wait(self) -> None:
        """Wait until the server is idle: an old client does not wait for its notifications, and the test needs the connection."""
        until = time.monotonic() + PATIENCE_SECONDS
        while not self.is_idle() and time.monotonic() < until:
            time.sleep(0.005)

    async def _work(self, token: str, work: Callable[[Client], Awaitable[Result]], mode: str) -> Result:
        async with (
            httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=PATIENCE_SECONDS) as http,
            Client(streamable_http_client(self.url, http_client=http), mode=mode, cache=None) as client,
        ):
            return await work(client)

    def post(self, content: bytes = b"{}", **headers: str) -> httpx2.Response:
        """Send a bare request, as from a client that does not know the protocol."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        known = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        try:
            return httpx2.post(self.url, content=content, headers=known | named, timeout=PATIENCE_SECONDS)
        finally:
            self._wait()


def protocol_error(mcp_server: McpTestServer, token: str, work: Callable[[Client], Awaitable[Any]]) -> MCPError:
    """Return the error that the protocol sends instead of a result; the client raises it in groups of its tasks."""
    with pytest.raises((MCPError, BaseExceptionGroup)) as raised:
        mcp_server.connected(token, work)
    refusal: BaseException = raised.value
    while isinstance(refusal, BaseExceptionGroup):
        refusal = refusal.exceptions[0]
    assert isinstance(refusal, MCPError)
    return refusal


@contextmanager
def run_mcp_server() -> Iterator[McpTestServer]:
    """Serve the web process's application on a free port, in a loop whose threads all use this thread's connection."""
    mine = connections["default"]
    mine.inc_thread_sharing()
    listening = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(AsgiDispatcher(get_asgi_application()), lifespan="on", log_level="critical")
    server, ready = uvicorn.Server(config), threading.Event()
    thread = threading.Thread(target=asyncio.run, args=[_serve(server, listening, mine, ready)], daemon=True)
    thread.start()
    try:
        assert ready.wait(PATIENCE_SECONDS)
        state = server.server_state
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
        yield McpTestServer(url, lambda: not (state.connections or state.tasks))
    finally:
        server.should_exit = True
        thread.join(PATIENCE_SECONDS)
        mine.dec_thread_sharing()


async def _serve(server: uvicorn.Server, listening: socket.socket, lent: Any, ready: threading.Event) -> None:
    def borrow() -> None:
        connections["default"] = lent

    with ThreadPoolExecutor(1, initializer=borrow) as threads:
        asyncio.get_running_loop().set_default_executor(threads)
        asyncio.get_running_loop().create_task(_signal_ready(server, ready))
        await server.serve(sockets=[listening])


async def _signal_ready(server: uvicorn.Server, ready: threading.Event) -> None:
    while not server.started:
        await asyncio.sleep(0.02)
    ready.set()


@pytest.fixture(scope="session")
def mcp_server() -> Iterator[McpTestServer]:
    """Return one server for all tests of a process."""
    with run_mcp_server() as mcp_server:
        yield mcp_server
