"""The threads that work with the database for one event loop, and in what order: fair among the tenants.

Threads that took what came first would have everybody wait behind the hundred answers that come at once for one tenant.
"""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import Any, Final, TypeVar

from apps.runtime.connecting import Connections
from apps.runtime.fairness import Fair

Result = TypeVar("Result")

# Whose work it is where it is no single tenant's: the look for what is due, the leases.
HOUSE: Final = 0


@dataclass(frozen=True, slots=True)
class _Work:
    # Any: whatever the call gives.
    call: Callable[[], Any]
    told: "Future[Any]" = field(default_factory=Future)


class Crew:
    """So many threads; whose tenant has the fewest of them is served next, and one of them is out of any single tenant's reach."""

    def __init__(self, threads: int) -> None:
        self._connections = Connections()
        self._threads = ThreadPoolExecutor(threads, "turns", initializer=self._connections.keep)
        self._fair = Fair(threads)
        self._waiting: dict[int, _Work] = {}
        self._numbers = count()
        self._lock = threading.Lock()

    async def do(self, tenant_id: int, call: Callable[[], Result]) -> Result:
        """Do something with the database. It runs to its end even where whoever waits for it is cancelled."""
        working: asyncio.Future[Result] = asyncio.wrap_future(self._put(tenant_id, call))
        try:
            return await asyncio.shield(working)
        except asyncio.CancelledError:
            await asyncio.wait([working])
            raise

    def shutdown(self) -> None:
        """Return when all is done that was asked for."""
        self._threads.shutdown()

    def close(self) -> None:
        """Let go of the connections, once the threads have ended."""
        self._connections.close()

    def _put(self, tenant_id: int, call: Callable[[], Result]) -> "Future[Result]":
        # What is logged in the thread is about the same turn as what is logged here.
        work, number = _Work(partial(copy_context().run, self._connections.lend, call)), next(self._numbers)
        with self._lock:
            self._waiting[number] = work
            self._fair.add(tenant_id, number)
        self._threads.submit(self._serve)
        return work.told

    def _serve(self) -> None:
        """Work until nothing may be taken: what its tenant may not have yet is taken by a thread that works for it now."""
        while picked := self._take():
            _perform(*picked)

    def _take(self) -> "tuple[_Work, Callable[[], None]] | None":
        with self._lock:
            picked = self._fair.take()
            return (self._waiting.pop(picked[1]), partial(self._ended, *picked)) if picked else None

    def _ended(self, tenant_id: int, number: int) -> None:
        with self._lock:
            self._fair.ended(tenant_id, number)


def _perform(work: _Work, ended: Callable[[], None]) -> None:
    try:
        result = work.call()
    except BaseException as error:  # noqa: BLE001  # whoever waits for it is told
        ended()
        work.told.set_exception(error)
    else:
        ended()
        work.told.set_result(result)
