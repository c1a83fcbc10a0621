"""The model a worker talks to, never from within somebody's transaction.

Only workers load this module before they need it: the vendor's SDK takes a second and a half.
"""

from django.conf import settings

from apps.governance.acting import acting_actor
from apps.llm.anthropic.async_client import async_backend_at
from apps.llm.anthropic.client import backend_at
from apps.llm.backend import AsyncBackend, Backend, Listener, Reply, Request


class WithoutTransaction:
    """The promise that nobody's rows are locked while a model thinks (R126)."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend

    def complete(self, request: Request) -> Reply:
        """As the backend does, unless somebody acts."""
        _refuse_within_transaction()
        return self.backend.complete(request)


class AsyncWithoutTransaction:
    """The same for the event loop."""

    def __init__(self, backend: AsyncBackend) -> None:
        self.backend = backend

    async def complete(self, request: Request, listener: Listener | None = None) -> Reply:
        """As the backend does, unless somebody acts."""
        _refuse_within_transaction()
        return await self.backend.complete(request, listener)

    async def aclose(self) -> None:
        """Let go of every connection."""
        await self.backend.aclose()


def turn_backend() -> Backend:
    """The endpoint the environment names, for a thread that waits."""
    return WithoutTransaction(backend_at(settings.ANTHROPIC_API_KEY, settings.ANTHROPIC_BASE_URL))


def engine_backend() -> AsyncBackend:
    """The same for the event loop it is called in."""
    connections = settings.TURNS_IN_FLIGHT
    return AsyncWithoutTransaction(
        async_backend_at(settings.ANTHROPIC_API_KEY, settings.ANTHROPIC_BASE_URL, connections=connections)
    )


def _refuse_within_transaction() -> None:
    if acting_actor() is not None:
        raise RuntimeError("A model was about to be asked while a transaction is open.")
