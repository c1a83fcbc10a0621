"""The model clients of an event loop: one for the installation, and one for each endpoint in use, up to a limit."""

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

from apps.llm.model_backend import AsyncBackend
from apps.tenants.endpoints.decrypted_endpoint import OpenedEndpoint

# Each client keeps connections open, so the one unused for the longest time is closed.
MAX_CLIENTS = 100


@dataclass(slots=True)
class _LentClient:
    """A client and the number of calls that use it. All calls share one object."""

    backend: AsyncBackend
    let_go: Callable[[], Awaitable[None]]
    users: int = 0

    async def __aenter__(self) -> AsyncBackend:
        self.users += 1
        return self.backend

    async def __aexit__(self, *_: object) -> None:
        self.users -= 1
        await self.let_go()


class ModelClients:
    """Clients, each made in the loop that uses it when a turn first needs it. A failure to make one is that turn's failure."""

    def __init__(
        self,
        make: Callable[[], AsyncBackend],
        make_at: Callable[[OpenedEndpoint], AsyncBackend],
        most: int = MAX_CLIENTS,
    ) -> None:
        self._make, self._make_at, self._most = make, make_at, most
        self._lent: OrderedDict[OpenedEndpoint | None, _LentClient] = OrderedDict()

    def at(self, place: OpenedEndpoint | None) -> AbstractAsyncContextManager[AsyncBackend]:
        """The client of an endpoint, for one call. A rotated key gets a new client."""
        lent = self._lent.get(place)
        if lent is None:
            lent = self._lent[place] = _LentClient(self._make_at(place) if place else self._make(), self._close_idle)
        self._lent.move_to_end(place)
        return lent

    async def _close_idle(self) -> None:
        idle = [place for place, lent in self._lent.items() if place and not lent.users]
        for place in idle[: max(0, len(self._lent) - self._most)]:
            await self._lent.pop(place).backend.aclose()

    async def aclose(self) -> None:
        """Close all connections."""
        while self._lent:
            await self._lent.popitem()[1].backend.aclose()
