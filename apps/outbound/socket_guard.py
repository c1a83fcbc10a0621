"""The guard where a socket is opened: whatever a name resolves to by then, none is opened to an address that is not reachable."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

from apps.outbound.ssrf import PRIVATE_ADDRESS, is_reachable

if TYPE_CHECKING:
    from aiohttp.connector import AddrInfoType, SocketFactoryType

    from apps.outbound.ssrf import Networks


class AddressRefused(OSError):
    """The name resolved to an address that tenants may not reach."""


def socket_factory(allowed: Networks) -> SocketFactoryType:
    """What opens a connector's sockets, or refuses to."""

    def opened(found: AddrInfoType) -> socket.socket:
        family, kind, protocol, _, address = found
        if not is_reachable(str(address[0]), allowed):
            raise AddressRefused(PRIVATE_ADDRESS)
        return socket.socket(family=family, type=kind, proto=protocol)

    return opened


def is_address_refusal(error: BaseException | None) -> bool:
    """Whether that lies at the bottom of a broken connection; clients on the way keep its words, not always its type."""
    while error is not None:
        if isinstance(error, AddressRefused) or PRIVATE_ADDRESS in str(error):
            return True
        error = error.__cause__ or error.__context__
    return False
