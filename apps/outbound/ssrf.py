"""The addresses that a tenant may enter: the public Internet, and the networks that the installation allows; pure.

An address is checked twice: its text when it is saved, and the addresses its name resolves to when a socket is opened. A name
that later resolves to another address therefore reaches no internal address either.
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
# Reserved, whatever the interpreter's own list says: site-local, documentation, and anycast addresses of 6to4 relays.
_RESERVED_NETWORKS: Final = (ip_network("fec0::/10"), ip_network("3fff::/20"), ip_network("192.88.99.0/24"))
# IPv6 networks whose last 32 bits are an IPv4 address, to which a translator connects.
_TRANSLATION_PREFIXES: Final = (IPv6Network("64:ff9b::/96"), IPv6Network("::/96"))


def parse_networks(text: str) -> tuple[IPv4Network | IPv6Network, ...]:
    """Return the networks of a comma-separated setting. Raises ValueError for an entry that is not a network."""
    return tuple(ip_network(part.strip()) for part in text.split(",") if part.strip())


def url_flaw(url: str, allowed: Networks = ()) -> str:
    """Return the reason why this URL cannot be used, as a sentence; empty if the URL itself shows none."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        return "This is not a web address. Write it like https://models.example."
    if parts.scheme not in SCHEMES or not host:
        return "The address has to begin with https:// or http:// and name a host."
    if parts.username is not None or parts.password is not None:
        return "The address contains a user name or a password. Remove it; the key has a field of its own."
    if parts.query or parts.fragment or "?" in url or "#" in url:
        return "The address may not contain a question mark or a hash. Remove it and everything after it."
    if any(character.isspace() or not character.isprintable() for character in url):
        return "The address contains a space or an invisible character. Remove it."
    literal = _parse_ip_literal(host)
    inside = host.rstrip(".").lower() in LOOPBACK_NAMES or host.lower().rstrip(".").endswith(".localhost")
    if literal is not None:
        inside = not is_reachable(literal, allowed)
    elif inside:
        inside = not is_reachable(IPv4Address("127.0.0.1"), allowed)
    return PRIVATE_ADDRESS if inside else ""


def origin_of(url: str) -> tuple[str, str | None, int | None]:
    """Return the scheme, host and port of a URL. Secrets stored for one origin are never sent to another."""
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or PORTS.get(parts.scheme)


PRIVATE_ADDRESS: Final = (
    "The address leads into this machine or a private network, which this installation does not allow."
    " Name a public host, or have the network allowed by REACHABLE_NETWORKS."
)


def is_reachable(address: Address | str, allowed: Networks = ()) -> bool:
    """Return whether a socket may be opened to this address: it is public, or in a network that the installation allows."""
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
    """Return the IPv4 address embedded in an IPv6 address, or the address itself."""
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
    """Parse a host that is an IP address in any form accepted by resolvers: 0x7f.1, 017700000001, 127.1."""
    try:
        return ip_address(host.partition("%")[0])
    except ValueError:
        pass
    try:
        return IPv4Address(socket.inet_aton(host.rstrip(".")))
    except (OSError, UnicodeEncodeError):
        return None
