"""A connection that opens no socket to an inner address, follows nobody elsewhere, and asks no proxy."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Final

import aiohttp
import anthropic
from anthropic._vendor.httpx_aiohttp.transport import AiohttpTransport

from apps.llm.backend import EndpointRefused
from apps.llm.reaching import INSIDE, is_reachable

if TYPE_CHECKING:
    import httpx2
    from aiohttp.connector import AddrInfoType

    from apps.llm.reaching import Networks

REDIRECTED: Final = "The endpoint answered with a redirect, which is not followed. Name the address it leads to."


class AddressRefused(OSError):
    """The name resolved to an address that tenants may not reach."""


def guarded_client(limits: httpx2.Limits, allowed: Networks) -> httpx2.AsyncClient:
    """For addresses that somebody typed in: what a name resolves to is judged where the socket is opened."""

    def opened(found: AddrInfoType) -> socket.socket:
        family, kind, protocol, _, address = found
        if not is_reachable(str(address[0]), allowed):
            raise AddressRefused(INSIDE)
        return socket.socket(family=family, type=kind, proto=protocol)

    def session() -> aiohttp.ClientSession:
        connector = aiohttp.TCPConnector(
            limit=limits.max_connections or 0,
            keepalive_timeout=limits.keepalive_expiry,
            socket_factory=opened,
            ssl=transport.ssl_context,
        )
        return aiohttp.ClientSession(connector=connector)

    transport = AiohttpTransport(trust_env=False, limits=limits, client=session)
    return anthropic.DefaultAioHttpClient(limits=limits, transport=transport, follow_redirects=False, trust_env=False)


def refused_address(error: BaseException | None) -> EndpointRefused | None:
    """What lies at the bottom of a broken connection, if it is that it was not allowed."""
    while error is not None:
        if isinstance(error, AddressRefused) or INSIDE in str(error):
            return EndpointRefused(INSIDE)
        error = error.__cause__ or error.__context__
    return None
