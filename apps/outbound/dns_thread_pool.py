"""Resolves host names in a separate thread pool, so that an unresponsive name server delays only the requests that need it."""

from __future__ import annotations

import asyncio
import socket
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final

from aiohttp.abc import AbstractResolver, ResolveResult

# The number of names resolved at once.
MOST_THREADS: Final = 64


class DnsThreadPool:
    """A thread pool used only for DNS lookups."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(MOST_THREADS, thread_name_prefix="names")

    async def found(
        self, host: str, port: int, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[tuple[socket.AddressFamily, int, str, int]]:
        """Resolve a name and return the family, protocol, address and port of each address."""
        ask = partial(socket.getaddrinfo, host, port, family, socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG)
        found = await asyncio.get_running_loop().run_in_executor(self._threads, ask)
        return [(of, protocol, str(address[0]), int(address[1])) for of, _, protocol, _, address in found]

    def close(self) -> None:
        """Shut the pool down without waiting for running lookups."""
        self._threads.shutdown(wait=False, cancel_futures=True)


class DnsThreadPoolResolver(AbstractResolver):
    """The thread pool as a resolver for aiohttp's connectors."""

    def __init__(self) -> None:
        self._pool = DnsThreadPool()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """Return every address of a name."""
        return [
            ResolveResult(
                hostname=host,
                host=address,
                port=at,
                family=of,
                proto=protocol,
                flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
            )
            for of, protocol, address, at in await self._pool.found(host, port, family)
        ]

    async def close(self) -> None:
        """Shut the pool down without waiting for running lookups."""
        self._pool.close()
