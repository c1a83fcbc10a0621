from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from apps.llm.anthropic.async_client import guarded_backend_at

if TYPE_CHECKING:
    from apps.llm.backend import Backend, Reply, Request
    from apps.outbound.ssrf import Networks


def waiting_backend_at(api_key: str, base_url: str, *, allowed: Networks) -> Backend:
    """A model at an address that a tenant typed in, for a thread that waits; each call opens a connection of its own."""
    return _Waiting(api_key, base_url, allowed)


@dataclass(frozen=True, slots=True)
class _Waiting:
    """The loop's client, once for each call."""

    api_key: str = field(repr=False)
    base_url: str
    allowed: Networks

    def complete(self, request: Request) -> Reply:
        return asyncio.run(self._asked(request))

    async def _asked(self, request: Request) -> Reply:
        backend = guarded_backend_at(self.api_key, self.base_url, connections=1, allowed=self.allowed)
        try:
            return await backend.complete(request)
        finally:
            await backend.aclose()
