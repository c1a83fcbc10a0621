"""ASGI dispatch: the MCP endpoint at its address, Django at all others. The endpoint is loaded on its first request."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from importlib import import_module
from typing import Any, Final

from apps.api.sse.slow_clients import SendWithTimeout
from apps.telemetry.request_logging import ROUTE_KEY

# Any: types of the ASGI protocol
Scope = Any
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

STREAM_SUFFIX: Final = "/stream"
MCP_PATHS: Final = frozenset({"/mcp", "/mcp/"})
NOT_RUNNING_BODY: Final = (
    b'{"error": "The web process was started without its lifespan. Start uvicorn with --lifespan on."}'
)


class AsgiDispatcher:
    """Routes requests to Django or to the MCP endpoint, and handles the lifespan, which Django refuses and the endpoint needs."""

    def __init__(self, django: App) -> None:
        self._django = django
        self._life: _EndpointLifespan | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request, or the lifespan of the process."""
        if scope["type"] == "lifespan":
            self._life = _EndpointLifespan()
            await self._life.live(receive, send)
        elif scope["type"] == "http" and scope["path"] in MCP_PATHS:
            scope[ROUTE_KEY] = "mcp"
            endpoint = await self._life.endpoint() if self._life else _not_running
            await endpoint(scope, receive, send)
        else:
            is_stream = scope["type"] == "http" and scope["path"].rstrip("/").endswith(STREAM_SUFFIX)
            await self._django(scope, receive, SendWithTimeout(send) if is_stream else send)


class _EndpointLifespan:
    """Loads the MCP library on the first request to the endpoint, because loading takes a second.

    Most processes never load the library.
    """

    def __init__(self) -> None:
        self._is_wanted = asyncio.Event()
        self._endpoint: asyncio.Future[App] = asyncio.get_running_loop().create_future()

    async def endpoint(self) -> App:
        """Return the running endpoint."""
        self._is_wanted.set()
        return await asyncio.shield(self._endpoint)

    async def live(self, receive: Receive, send: Send) -> None:
        """Run from startup to shutdown of the process. The endpoint's tasks start and end in this task."""
        await receive()
        await send({"type": "lifespan.startup.complete"})
        ending = asyncio.ensure_future(receive())
        wanted = asyncio.ensure_future(self._is_wanted.wait())
        async with AsyncExitStack() as stack:
            await asyncio.wait({ending, wanted}, return_when=asyncio.FIRST_COMPLETED)
            if wanted.done():
                await self._load(stack)
            await ending
        wanted.cancel()
        await send({"type": "lifespan.shutdown.complete"})

    async def _load(self, stack: AsyncExitStack) -> None:
        try:
            module = await asyncio.to_thread(import_module, "apps.mcp_server.asgi_endpoint")
            endpoint = module.McpEndpoint()
            await stack.enter_async_context(endpoint.running())
        except Exception as error:
            self._endpoint.set_exception(error)
            raise
        self._endpoint.set_result(endpoint)


async def _not_running(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 503, "headers": [(b"content-type", b"application/json")]})
    await send({"type": "http.response.body", "body": NOT_RUNNING_BODY})
