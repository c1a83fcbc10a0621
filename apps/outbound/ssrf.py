"""Where an address that a tenant typed in may lead: the public Internet, and what the installation allows besides; pure.

An address is judged twice. What it says is judged when it is written; what its name resolves to is judged at the moment of
connecting, socket by socket, so a name that answers something else by then reaches nothing either.
"""

from __future__ import annotations

import socket
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from typing import TYPE_CHECKING, Final, TypeAlias
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Sequence
    from ipaddress import IPv4Network

Address: TypeAlias = IPv4Address | IPv6Address
Networks: TypeAlias = "Sequence[IPv4Network | IPv6Network]"

PORTS: Final = {"http": 80, "https": 443}
SCHEMES: Final = tuple(PORTS)
LOOPBACK_NAMES: Final = ("localhost", "localhost.localdomain", "ip6-localhost", "ip6-loopback")
# Set aside, whatever the interpreter's own list says: site-local, documentation, the way to translators of 6to4.
_RESERVED_NETWORKS: Final = (ip_network("fec0::/10"), ip_network("3fff::/20"), ip_network("192.88.99.0/24"))
# Networks of IPv6 whose last 32 bits are an IPv4 address that a translator connects to.
_TRANSLATION_PREFIXES: Final = (IPv6Network("64:ff9b::/96"), IPv6Network("::/96"))


def parse_networks(text: str) -> tuple[IPv4Network | IPv6Network, ...]:
    """The networks of a setting, separated by commas. Raises ValueError for what is none."""
    return tuple(ip_network(part.strip()) for part in text.split(",") if part.strip())


def url_flaw(url: str, allowed: Networks = ()) -> str:
    """Why this address cannot be taken, in one sentence; empty if it can, as far as it says itself."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        return "This is no address of the web. Write it like https://models.example."
    if parts.scheme not in SCHEMES or not host:
        return "The address has to begin with https:// or http:// and name a host."
    if parts.username is not None or parts.password is not None:
        return "The address carries a name or a password. Leave them out; the key has a field of its own."
    if parts.query or parts.fragment or "?" in url or "#" in url:
        return "The address may not carry a question mark or a hash; the path ends it."
    if any(character.isspace() or not character.isprintable() for character in url):
        return "The address holds a space or a character that cannot be seen. Remove it."
    literal = _parse_ip_literal(host)
    inside = host.rstrip(".").lower() in LOOPBACK_NAMES or host.lower().rstrip(".").endswith(".localhost")
    if literal is not None:
        inside = not is_reachable(literal, allowed)
    elif inside:
        inside = not is_reachable(IPv4Address("127.0.0.1"), allowed)
    return PRIVATE_ADDRESS if inside else ""


def origin_of(url: str) -> tuple[str, str | None, int | None]:
    """Which server an address is of: what is kept for it follows to no other."""
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or PORTS.get(parts.scheme)


PRIVATE_ADDRESS: Final = (
    "The address leads into this machine or a private network, which this installation does not allow."
    " Name a public host, or have the network allowed by REACHABLE_NETWORKS."
)


def is_reachable(address: Address | str, allowed: Networks = ()) -> bool:
    """Whether a socket may be opened to this address: it is public, or in a network that the installation allows."""
    parsed = ip_address(address.partition("%")[0]) if isinstance(address, str) else address
    meant = _embedded_ipv4(parsed)
    if any(each in network for each in (parsed, meant) for network in allowed if each.version == network.version):
        return True
    return meant.is_global and not meant.is_multicast and not _is_reserved(meant)


def _is_reserved(address: Address) -> bool:
    if any(address in network for network in _RESERVED_NETWORKS):
        return True
    return address.is_reserved or address.is_unspecified or address.is_link_local or address.is_loopback


def _embedded_ipv4(address: Address) -> Address:
    """The IPv4 address that one of IPv6 only wraps, else the address itself."""
    if isinstance(address, IPv4Address):
        return address
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    if address.teredo is not None:
        return address.teredo[1]
    if any(address in network for network in _TRANSLATION_PREFIXES):
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address


def _parse_ip_literal(host: str) -> Address | None:
    """The address a host is written as, in any of the forms that a resolver would take for one: 0x7f.1, 017700000001, 127.1."""
    try:
        return ip_address(host.partition("%")[0])
    except ValueError:
        pass
    try:
        return IPv4Address(socket.inet_aton(host.rstrip(".")))
    except (OSError, UnicodeEncodeError):
        return None
