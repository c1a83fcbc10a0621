"""Names looked up in threads of their own: one whose name server is silent keeps none waiting who asks somebody else."""

from __future__ import annotations

import asyncio
import socket
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final

from aiohttp.abc import AbstractResolver, ResolveResult

# So many names at once.
MOST_THREADS: Final = 64


class DnsThreadPool:
    """Threads that ask name servers, and nobody else's."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(MOST_THREADS, thread_name_prefix="names")

    async def found(
        self, host: str, port: int, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[tuple[socket.AddressFamily, int, str, int]]:
        """Family, protocol, address and port of each address of a name."""
        ask = partial(socket.getaddrinfo, host, port, family, socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG)
        found = await asyncio.get_running_loop().run_in_executor(self._threads, ask)
        return [(of, protocol, str(address[0]), int(address[1])) for of, _, protocol, _, address in found]

    def close(self) -> None:
        """Wait for nobody who is still asked."""
        self._threads.shutdown(wait=False, cancel_futures=True)


class DnsThreadPoolResolver(AbstractResolver):
    """The same as connectors want it."""

    def __init__(self) -> None:
        self._pool = DnsThreadPool()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """Every address of a name."""
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
        """Wait for nobody who is still asked."""
        self._pool.close()
