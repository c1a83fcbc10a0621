"""The guarded transport for tool servers: it limits the bytes of a response and refuses compressed responses."""

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
    """The response exceeds the byte limit."""


class LimitedTransport(httpx2.AsyncBaseTransport):
    """The connections of one caller. `has_refused` and `is_too_long` keep the cause of a failure, whatever the client raises."""

    def __init__(self, allowed: Networks, most_bytes: int) -> None:
        self._guarded = GuardedTransport(allowed, connections=MAX_CONNECTIONS, resolver=_resolver())
        self._most_bytes = most_bytes
        self.has_refused = self.is_too_long = False

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send one request, and read at most the allowed number of response bytes."""
        try:
            answer = await self._guarded.handle_async_request(request)
        except httpx2.TransportError as error:
            self.has_refused = self.has_refused or is_address_refusal(error)
            raise
        if answer.headers.get("content-encoding", "identity").lower() != "identity":
            # A few compressed bytes can expand to any size.
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
        """Count received bytes. Raises ResponseTooLong if they exceed the limit."""
        self._most_bytes -= count
        if self._most_bytes < 0:
            self.is_too_long = True
            raise ResponseTooLong("The answer is longer than was agreed.")

    async def aclose(self) -> None:
        """Close every connection."""
        await self._guarded.aclose()


class _CountedStream(httpx2.AsyncByteStream):
    """A response body that counts its bytes as they arrive."""

    def __init__(self, transport: LimitedTransport, answer: httpx2.Response) -> None:
        self._transport, self._answer = transport, answer

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._answer.aiter_raw():
            self._transport.take(len(chunk))
            yield chunk

    async def aclose(self) -> None:
        await self._answer.aclose()


def limited_client(transport: LimitedTransport, headers: Mapping[str, str], seconds: float) -> httpx2.AsyncClient:
    """Return a client over this transport that follows no redirects and ignores environment variables."""
    sent = {**headers, "accept-encoding": "identity"}
    return httpx2.AsyncClient(
        transport=transport, headers=sent, timeout=seconds, follow_redirects=False, trust_env=False
    )


@lru_cache(maxsize=1)
def _resolver() -> DnsThreadPoolResolver:
    # One per process: each call has its own transport and each listing its own loop, which would wait for the resolver's threads
    # when it ends.
    return DnsThreadPoolResolver()
