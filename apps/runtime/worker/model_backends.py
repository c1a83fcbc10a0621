"""The model backends of a worker, which refuse to be called within a transaction.

Only workers load this module in advance: loading the vendor's SDK takes a second and a half.
"""

from django.conf import settings
from django.db import connection

from apps.governance.database.actor_transaction import current_actor
from apps.llm.anthropic.async_client import async_backend_at, guarded_backend_at
from apps.llm.anthropic.sync_client import backend_at, blocking_guarded_backend_at
from apps.llm.mcp_client.client import call_tool
from apps.llm.mcp_client.tool_server import ToolServerAddress, ToolServerResult
from apps.llm.model_backend import AsyncBackend, JsonObject, Listener, ModelBackend, ModelReply, ModelRequest
from apps.tenants.endpoints.decrypted_endpoint import OpenedEndpoint


class WithoutTransaction:
    """A backend that refuses to be called within a transaction, so that no rows are locked during a model call (R126)."""

    def __init__(self, backend: ModelBackend) -> None:
        self.backend = backend

    def complete(self, request: ModelRequest) -> ModelReply:
        """Call the backend. Raises RuntimeError within a transaction."""
        _refuse_within_transaction()
        return self.backend.complete(request)


class AsyncWithoutTransaction:
    """An asynchronous backend that refuses to be called within a transaction."""

    def __init__(self, backend: AsyncBackend) -> None:
        self.backend = backend

    async def complete(self, request: ModelRequest, listener: Listener | None = None) -> ModelReply:
        """Call the backend. Raises RuntimeError within a transaction."""
        _refuse_within_transaction()
        return await self.backend.complete(request, listener)

    async def aclose(self) -> None:
        """Close all connections."""
        await self.backend.aclose()


def turn_backend() -> ModelBackend:
    """The installation's endpoint, for synchronous calls."""
    return WithoutTransaction(backend_at(settings.ANTHROPIC_API_KEY, settings.ANTHROPIC_BASE_URL))


def engine_backend() -> AsyncBackend:
    """The installation's endpoint, for the running event loop."""
    connections = settings.TURNS_IN_FLIGHT
    return AsyncWithoutTransaction(
        async_backend_at(settings.ANTHROPIC_API_KEY, settings.ANTHROPIC_BASE_URL, connections=connections)
    )


def engine_backend_at(place: OpenedEndpoint) -> AsyncBackend:
    """A tenant's own endpoint, for the running event loop."""
    connections = settings.TURNS_IN_FLIGHT or 1
    backend = guarded_backend_at(
        place.api_key, place.base_url, connections=connections, allowed=settings.REACHABLE_NETWORKS
    )
    return AsyncWithoutTransaction(backend)


def turn_backend_at(place: OpenedEndpoint) -> ModelBackend:
    """A tenant's own endpoint, for synchronous calls."""
    backend = blocking_guarded_backend_at(place.api_key, place.base_url, allowed=settings.REACHABLE_NETWORKS)
    return WithoutTransaction(backend)


async def call_server_tool(place: ToolServerAddress, name: str, arguments: JsonObject, key: str) -> ToolServerResult:
    """Call a tool of a tool server, with the client that this process has loaded."""
    _refuse_within_transaction()
    return await call_tool(place, name, arguments, key)


def _refuse_within_transaction() -> None:
    # Django marks the transaction that wraps a test, which does not count.
    is_open = any(not block._from_testcase for block in connection.atomic_blocks)  # type: ignore[attr-defined]  # private
    if current_actor() is not None or is_open:
        raise RuntimeError("A model was about to be asked while a transaction is open.")
