"""A connection that opens no socket to an inner address, follows nobody elsewhere, and asks no proxy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import aiohttp
import anthropic
from anthropic._vendor.httpx_aiohttp.transport import AiohttpTransport

from apps.llm.names import OwnThreads
from apps.llm.sockets import socket_factory

if TYPE_CHECKING:
    import httpx2

    from apps.llm.reaching import Networks

REDIRECTED: Final = "The endpoint answered with a redirect, which is not followed. Name the address it leads to."


def guarded_client(limits: httpx2.Limits, allowed: Networks) -> httpx2.AsyncClient:
    """For addresses that somebody typed in: what a name resolves to is judged where the socket is opened."""

    def session() -> aiohttp.ClientSession:
        connector = aiohttp.TCPConnector(
            limit=limits.max_connections or 0,
            keepalive_timeout=limits.keepalive_expiry,
            socket_factory=socket_factory(allowed),
            resolver=OwnThreads(),
            ssl=transport.ssl_context,
        )
        return aiohttp.ClientSession(connector=connector)

    transport = AiohttpTransport(trust_env=False, limits=limits, client=session)
    return anthropic.DefaultAioHttpClient(limits=limits, transport=transport, follow_redirects=False, trust_env=False)
