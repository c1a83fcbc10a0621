"""The SSRF guard at the socket: no socket is opened to a forbidden address, whatever the host name resolves to."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

from apps.outbound.ssrf import PRIVATE_ADDRESS, is_reachable

if TYPE_CHECKING:
    from aiohttp.connector import AddrInfoType, SocketFactoryType

    from apps.outbound.ssrf import Networks


class AddressRefused(OSError):
    """The host name resolved to an address that tenants may not reach."""


def socket_factory(allowed: Networks) -> SocketFactoryType:
    """Return a function that opens sockets for a connector and refuses forbidden addresses."""

    def opened(found: AddrInfoType) -> socket.socket:
        family, kind, protocol, _, address = found
        if not is_reachable(str(address[0]), allowed):
            raise AddressRefused(PRIVATE_ADDRESS)
        return socket.socket(family=family, type=kind, proto=protocol)

    return opened


def is_address_refusal(error: BaseException | None) -> bool:
    """Return whether a refused address caused this error. Clients keep the error's message, but not always its type."""
    while error is not None:
        if isinstance(error, AddressRefused) or PRIVATE_ADDRESS in str(error):
            return True
        error = error.__cause__ or error.__context__
    return False
