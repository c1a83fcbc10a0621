"""HTTP over aiohttp to an address that a tenant entered: no internal address, no proxy, no redirect, no cookie.

`guarded_connector` is the guard. `GuardedTransport` uses it below clients based on httpx2: the model's SDK and the client of tool
servers. Both belong to the event loop in which they were first used, and must be closed in that loop.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Final

import aiohttp
import httpx2

from apps.outbound.dns_thread_pool import DnsThreadPoolResolver
from apps.outbound.socket_guard import socket_factory

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncIterator, Iterator

    from apps.outbound.ssrf import Networks

# The first match wins. aiohttp's errors inherit from each other, so narrow ones come before wide ones.
_ERRORS: Final[tuple[tuple[type[BaseException], type[httpx2.TransportError]], ...]] = (
    (aiohttp.ConnectionTimeoutError, httpx2.ConnectTimeout),
    (TimeoutError, httpx2.ReadTimeout),
    (aiohttp.InvalidURL, httpx2.UnsupportedProtocol),
    (aiohttp.ClientPayloadError, httpx2.ReadError),
    (aiohttp.ClientConnectionError, httpx2.ConnectError),
    (aiohttp.ClientError, httpx2.RemoteProtocolError),
)


def guarded_connector(
    allowed: Networks,
    *,
    connections: int = 0,
    keepalive_seconds: float = 15.0,
    resolver: DnsThreadPoolResolver | None = None,
) -> aiohttp.TCPConnector:
    """Return a connector to public addresses and `allowed` networks only, with up to `connections` at once; 0 means no limit."""
    return aiohttp.TCPConnector(
        limit=connections,
        keepalive_timeout=keepalive_seconds,
        socket_factory=socket_factory(allowed),
        resolver=resolver or DnsThreadPoolResolver(),
        ssl=_ssl_context(),
    )


class GuardedTransport(httpx2.AsyncBaseTransport):
    """A transport for httpx2 clients over a guarded connector. Errors are raised as httpx2 errors."""

    def __init__(
        self,
        allowed: Networks,
        *,
        connections: int = 0,
        keepalive_seconds: float = 15.0,
        resolver: DnsThreadPoolResolver | None = None,
    ) -> None:
        self._make_connector = partial(
            guarded_connector,
            allowed,
            connections=connections,
            keepalive_seconds=keepalive_seconds,
            resolver=resolver,
        )
        self._session: aiohttp.ClientSession | None = None

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send one request. The response streams the body, which is not read yet."""
        with _as_httpx2_errors():
            answer = await self._opened_session().request(
                request.method,
                str(request.url),
                data=_body(request),
                headers=_headers(request),
                allow_redirects=False,
                timeout=_timeout(request),
            )
        reason = {"reason_phrase": answer.reason.encode()} if answer.reason else {}
        return httpx2.Response(
            answer.status,
            headers=list(answer.raw_headers),
            stream=_ResponseStream(answer),
            request=request,
            extensions={"http_version": b"HTTP/1.1", **reason},
        )

    async def aclose(self) -> None:
        """Close every connection."""
        if self._session is not None:
            await self._session.close()

    def _opened_session(self) -> aiohttp.ClientSession:
        # Created at the first request, because a session belongs to the loop that runs when it is created.
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=self._make_connector(),
                cookie_jar=aiohttp.DummyCookieJar(),
                trust_env=False,
                auto_decompress=False,
            )
        return self._session


class _ResponseStream(httpx2.AsyncByteStream):
    """The bytes of a response as they arrive. Closing the stream early also closes its connection."""

    def __init__(self, answer: aiohttp.ClientResponse) -> None:
        self._answer = answer

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with _as_httpx2_errors():
            async for chunk in self._answer.content.iter_any():
                yield chunk

    async def aclose(self) -> None:
        self._answer.release()
        await self._answer.wait_for_close()


def _body(request: httpx2.Request) -> bytes | httpx2.AsyncByteStream | None:
    try:
        return request.content or None
    except httpx2.RequestNotRead:
        stream = request.stream
        if not isinstance(stream, httpx2.AsyncByteStream):
            raise TypeError("A streamed request body must be an asynchronous iterator.") from None
        return stream


def _headers(request: httpx2.Request) -> list[tuple[str, str]]:
    # aiohttp frames a body without a length itself.
    headers = request.headers.multi_items()
    return [(name, value) for name, value in headers if name.lower() != "transfer-encoding"]


def _timeout(request: httpx2.Request) -> aiohttp.ClientTimeout:
    """Return the timeouts for a free connection, for connecting, and between two bytes; the whole request has none."""
    seconds = request.extensions.get("timeout", {})
    return aiohttp.ClientTimeout(
        total=None, connect=seconds.get("pool"), sock_connect=seconds.get("connect"), sock_read=seconds.get("read")
    )


@contextmanager
def _as_httpx2_errors() -> Iterator[None]:
    try:
        yield
    except (aiohttp.ClientError, TimeoutError) as error:
        kind = next(kind for cause, kind in _ERRORS if isinstance(error, cause))
        raise kind(str(error)) from error


@lru_cache(maxsize=1)
def _ssl_context() -> ssl.SSLContext:
    # Cached: reading the certificates takes longer than most calls.
    return httpx2.create_ssl_context(trust_env=False)
