from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


class AnswerDelay:
    """The delay of every answer. A change also applies to calls that are already waiting."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._waiting: set[asyncio.Future[None]] = set()

    def change(self, seconds: float) -> None:
        self.seconds = seconds
        for waiting in self._waiting:
            waiting.set_result(None)
        self._waiting.clear()

    async def changed(self, hung_up: asyncio.Future[object], *, within_seconds: float) -> None:
        """Return when the delay changes, the caller disconnects, or the time is up."""
        waiting = asyncio.get_running_loop().create_future()
        self._waiting.add(waiting)
        try:
            await asyncio.wait((waiting, hung_up), timeout=within_seconds, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._waiting.discard(waiting)


async def wait_unless_abandoned(receive: Callable[[], Awaitable[object]], delay: AnswerDelay, seconds: float) -> bool:
    """Wait for the delay plus this many seconds, unless the caller disconnects first."""
    if delay.seconds + seconds <= 0:
        return False
    loop = asyncio.get_running_loop()
    began = loop.time()
    hung_up = asyncio.ensure_future(receive())
    try:
        while not hung_up.done() and (left := began + delay.seconds + seconds - loop.time()) > 0:
            await delay.changed(hung_up, within_seconds=left)
        return hung_up.done()
    finally:
        hung_up.cancel()
