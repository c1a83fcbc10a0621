"""HTTP to an address that somebody typed in: no socket to an inner address, no proxy, and no more bytes than were agreed."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import httpcore2
import httpx2

from apps.llm.names import Names
from apps.llm.reaching import INSIDE, is_reachable

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncIterator, Iterable, Mapping

    from apps.llm.reaching import Networks


class TooLong(httpx2.StreamError):
    """More came than was agreed."""


class _Judging(httpcore2.AnyIOBackend):
    """Resolves a name once, and connects to what it judged and to nothing else."""

    def __init__(self, allowed: Networks) -> None:
        self.allowed = allowed
        self.has_refused = False

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        for address in await _resolved(host, port):
            if is_reachable(address, self.allowed):
                return await super().connect_tcp(address, port, timeout, local_address, socket_options)
        self.has_refused = True
        raise httpcore2.ConnectError(INSIDE)


async def _resolved(host: str, port: int) -> list[str]:
    try:
        found = await _names().found(host, port)
    except OSError as flaw:
        raise httpcore2.ConnectError("The name of the host is not known.") from flaw
    return [address for _, _, address, _ in found]


@lru_cache(maxsize=1)
def _names() -> Names:
    # Of the process: each call has a transport of its own, and a listing a loop, which would wait for its threads at its end.
    return Names()


class GuardedTransport(httpx2.AsyncBaseTransport):
    """One caller's connections. `has_refused` and `is_too_long` say what became of them, whatever the client makes of it."""

    def __init__(self, allowed: Networks, most_bytes: int) -> None:
        self._backend = _Judging(allowed)
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=_ssl_context(), max_connections=4, network_backend=self._backend
        )
        self._most_bytes = most_bytes
        self.is_too_long = False

    @property
    def has_refused(self) -> bool:
        """Whether an address was not allowed."""
        return self._backend.has_refused

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send one request, and let so many bytes of what comes back through."""
        url = request.url
        sent = httpcore2.Request(
            request.method,
            httpcore2.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path),
            headers=request.headers.raw,
            content=request.stream,
            extensions=request.extensions,
        )
        try:
            got = await self._pool.handle_async_request(sent)
        except httpcore2.TimeoutException as flaw:
            raise httpx2.ReadTimeout("The server took too long.") from flaw
        except (httpcore2.NetworkError, httpcore2.ProtocolError) as flaw:
            raise httpx2.ConnectError("The connection failed.") from flaw
        if any(name.lower() == b"content-encoding" and value.lower() != b"identity" for name, value in got.headers):
            # A few bytes unpack to any number.
            await got.aclose()
            raise httpx2.DecodingError("The answer is packed, though nobody asked for that.")
        return httpx2.Response(got.status, headers=got.headers, stream=_Counted(self, got), extensions=got.extensions)

    def take(self, count: int) -> None:
        """Count what came."""
        self._most_bytes -= count
        if self._most_bytes < 0:
            self.is_too_long = True
            raise TooLong("The answer is longer than was agreed.")

    async def aclose(self) -> None:
        """Let go of every connection."""
        await self._pool.aclose()


class _Counted(httpx2.AsyncByteStream):
    """What comes back, counted as it comes."""

    def __init__(self, transport: GuardedTransport, got: httpcore2.Response) -> None:
        self._transport, self._got = transport, got

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._got.aiter_stream():
                self._transport.take(len(chunk))
                yield chunk
        except httpcore2.TimeoutException as flaw:
            raise httpx2.ReadTimeout("The server took too long.") from flaw
        except (httpcore2.NetworkError, httpcore2.ProtocolError) as flaw:
            raise httpx2.ReadError("The connection broke.") from flaw

    async def aclose(self) -> None:
        await self._got.aclose()


def guarded_client(transport: GuardedTransport, headers: Mapping[str, str], seconds: float) -> httpx2.AsyncClient:
    """A client over it that follows nobody and reads nothing of its environment."""
    sent = {**headers, "accept-encoding": "identity"}
    return httpx2.AsyncClient(
        transport=transport, headers=sent, timeout=seconds, follow_redirects=False, trust_env=False
    )


@lru_cache(maxsize=1)
def _ssl_context() -> ssl.SSLContext:
    # Reading the certificates takes longer than most calls.
    return httpcore2.default_ssl_context()
