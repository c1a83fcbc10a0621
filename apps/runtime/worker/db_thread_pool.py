"""Database thread pool of one event loop, fair among tenants, and the connections that its threads keep.

In a first-come pool, a hundred replies that arrive at once for one tenant would delay all other tenants. A new connection for
each call would cost more than the call itself: it starts a server process and plans every query again.
"""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from time import monotonic
from typing import Any, Final, TypeVar

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.backends.base.base import BaseDatabaseWrapper

from apps.runtime.worker.fair_queue import FairQueue

Result = TypeVar("Result")

AGE_SECONDS: Final = 600
# A connection that was idle for longer is replaced before use, since a proxy may have closed it.
IDLE_SECONDS: Final = 5.0


class ThreadConnections:
    """Connections of threads that began with `keep`, for calls made through `lend`."""

    def __init__(self, idle_seconds: float = IDLE_SECONDS) -> None:
        self._idle_seconds = idle_seconds
        self._kept: dict[BaseDatabaseWrapper, float] = {}

    def keep(self) -> None:
        """Keep one connection for this thread, unless the process has a connection pool that does so."""
        connection = connections[DEFAULT_DB_ALIAS]
        if not _is_pooled(connection):
            connection.settings_dict = {**connection.settings_dict, "CONN_MAX_AGE": AGE_SECONDS}
            self._kept[connection] = monotonic()

    def lend(self, call: Callable[[], Result]) -> Result:
        """Make a call with this thread's connection. The connection is usable before and afterwards, or closed."""
        connection = connections[DEFAULT_DB_ALIAS]
        if connection in self._kept and monotonic() - self._kept[connection] > self._idle_seconds:
            connection.close()
        try:
            return call()
        finally:
            connection.close_if_unusable_or_obsolete()
            if _is_pooled(connection):
                # A thread that does not return a pooled connection would starve the others.
                connection.close()
            elif connection in self._kept:
                self._kept[connection] = monotonic()

    def close(self) -> None:
        """Close the connections of threads that have ended."""
        for connection in self._kept:
            connection.inc_thread_sharing()
            connection.close()


def _is_pooled(connection: BaseDatabaseWrapper) -> bool:
    return bool(connection.settings_dict["OPTIONS"].get("pool"))


# The tenant id for work across tenants, such as finding due work and extending leases.
NO_TENANT: Final = 0


@dataclass(frozen=True, slots=True)
class _PendingCall:
    # Any: the result of the call.
    call: Callable[[], Any]
    told: "Future[Any]" = field(default_factory=Future)


class DatabaseThreadPool:
    """A fixed number of threads. The tenant with the fewest running calls is next, and one tenant cannot use all threads."""

    def __init__(self, threads: int) -> None:
        self._connections = ThreadConnections()
        self._threads = ThreadPoolExecutor(threads, "turns", initializer=self._connections.keep)
        self._fair = FairQueue(threads)
        self._waiting: dict[int, _PendingCall] = {}
        self._numbers = count()
        self._lock = threading.Lock()

    async def do(self, tenant_id: int, call: Callable[[], Result]) -> Result:
        """Make a database call in a thread. The call runs to its end even if the waiting task is cancelled."""
        working: asyncio.Future[Result] = asyncio.wrap_future(self._submit(tenant_id, call))
        try:
            return await asyncio.shield(working)
        except asyncio.CancelledError:
            await asyncio.wait([working])
            raise

    def shutdown(self) -> None:
        """Wait until all submitted calls are done."""
        self._threads.shutdown()

    def close(self) -> None:
        """Close the connections, after the threads have ended."""
        self._connections.close()

    def _submit(self, tenant_id: int, call: Callable[[], Result]) -> "Future[Result]":
        # The context carries the log fields of the turn into the thread.
        work, number = _PendingCall(partial(copy_context().run, self._connections.lend, call)), next(self._numbers)
        with self._lock:
            self._waiting[number] = work
            self._fair.add(tenant_id, number)
        self._threads.submit(self._work_off)
        return work.told

    def _work_off(self) -> None:
        """Make calls until none may be taken. A call above its tenant's share waits for a thread that serves the tenant."""
        while picked := self._take():
            _perform(*picked)

    def _take(self) -> "tuple[_PendingCall, Callable[[], None]] | None":
        with self._lock:
            picked = self._fair.take()
            return (self._waiting.pop(picked[1]), partial(self._release, *picked)) if picked else None

    def _release(self, tenant_id: int, number: int) -> None:
        with self._lock:
            self._fair.ended(tenant_id, number)


def _perform(work: _PendingCall, ended: Callable[[], None]) -> None:
    try:
        result = work.call()
    except BaseException as error:  # noqa: BLE001  # the waiting task gets it
        ended()
        work.told.set_exception(error)
    else:
        ended()
        work.told.set_result(result)
