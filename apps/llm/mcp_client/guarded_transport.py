"""The guarded transport, for tool servers: no more bytes than were agreed, and none that have to be unpacked."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import httpx2

from apps.outbound.dns_thread_pool import DnsThreadPoolResolver
from apps.outbound.guarded_http import GuardedTransport
from apps.outbound.socket_guard import is_address_refusal

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from apps.outbound.ssrf import Networks

MAX_CONNECTIONS = 4


class ResponseTooLong(httpx2.StreamError):
    """More came than was agreed."""


class LimitedTransport(httpx2.AsyncBaseTransport):
    """One caller's connections. `has_refused` and `is_too_long` say what became of them, whatever the client makes of it."""

    def __init__(self, allowed: Networks, most_bytes: int) -> None:
        self._guarded = GuardedTransport(allowed, connections=MAX_CONNECTIONS, resolver=_resolver())
        self._most_bytes = most_bytes
        self.has_refused = self.is_too_long = False

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send one request, and let so many bytes of what comes back through."""
        try:
            answer = await self._guarded.handle_async_request(request)
        except httpx2.TransportError as error:
            self.has_refused = self.has_refused or is_address_refusal(error)
            raise
        if answer.headers.get("content-encoding", "identity").lower() != "identity":
            # A few bytes unpack to any number.
            await answer.aclose()
            raise httpx2.DecodingError("The answer is packed, though nobody asked for that.")
        return httpx2.Response(
            answer.status_code,
            headers=answer.headers,
            stream=_CountedStream(self, answer),
            request=request,
            extensions=answer.extensions,
        )

    def take(self, count: int) -> None:
        """Count what came. Raises TooLong where it is more than was agreed."""
        self._most_bytes -= count
        if self._most_bytes < 0:
            self.is_too_long = True
            raise ResponseTooLong("The answer is longer than was agreed.")

    async def aclose(self) -> None:
        """Close every connection."""
        await self._guarded.aclose()


class _CountedStream(httpx2.AsyncByteStream):
    """What comes back, counted as it comes."""

    def __init__(self, transport: LimitedTransport, answer: httpx2.Response) -> None:
        self._transport, self._answer = transport, answer

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._answer.aiter_raw():
            self._transport.take(len(chunk))
            yield chunk

    async def aclose(self) -> None:
        await self._answer.aclose()


def limited_client(transport: LimitedTransport, headers: Mapping[str, str], seconds: float) -> httpx2.AsyncClient:
    """A client over it that follows nobody and reads nothing of its environment."""
    sent = {**headers, "accept-encoding": "identity"}
    return httpx2.AsyncClient(
        transport=transport, headers=sent, timeout=seconds, follow_redirects=False, trust_env=False
    )


@lru_cache(maxsize=1)
def _resolver() -> DnsThreadPoolResolver:
    # Of the process: each call has a transport of its own, and a listing a loop, which would wait for its threads at its end.
    return DnsThreadPoolResolver()
