"""One open stream: what it has yet to be told, how long it may go on, and why it ended."""

import asyncio
import json
import random
import time
from collections import deque
from collections.abc import AsyncIterator, Mapping
from enum import StrEnum
from typing import Final

from django.http import HttpRequest

from apps.api.sse.stream_limits import StreamSlot
from apps.governance.actors import Actor
from apps.telemetry.product_metrics import STREAM_EVENTS, STREAMS_ENDED
from apps.tenants.authentication.credential_recheck import HeldCredential

# Whoever reads slower than it is told is let go, and goes on from where it was: its queue is nobody else's memory.
QUEUE_EVENTS: Final = 256
# Proxies close what says nothing; whoever is cut off comes again and goes on where it was.
HEARTBEAT_SECONDS: Final = 15.0
MAX_STREAM_SECONDS: Final = 600.0
RETRY_MS: Final = 1_000
# When a process ends, its readers do not all come to the next one in the same moment.
RECONNECT_SPREAD_MS: Final = 4_000


class StreamEndReason(StrEnum):
    """Why a stream was ended by us; it may be taken up again behind its last event, except by who may no more."""

    MAX_DURATION = "max_duration"
    SLOW_CLIENT = "slow_client"
    SHUTDOWN = "shutdown"
    ACCESS_LOST = "access_lost"


class Subscriber:
    """Somebody who holds a stream open. Used by the event loop alone."""

    def __init__(self, actor: Actor, standing: HeldCredential, request: HttpRequest, slot: StreamSlot) -> None:
        self.actor, self.standing, self.request, self.seat = actor, standing, request, slot
        self.known_at = time.monotonic()
        self.heard = 0
        self.mark = ""
        self.why: StreamEndReason | None = None
        self._told: deque[tuple[int, bytes]] = deque()
        self._preview: bytes = b""
        self._woken = asyncio.Event()

    @property
    def is_free(self) -> bool:
        """Whether it has taken everything it was told."""
        return not self._told

    def tell(self, piece: bytes, position: int = 0) -> None:
        """One event more. What stands no later than what was heard already is left out."""
        if self.why is not None or (position and position <= self.heard):
            return
        self.heard = max(self.heard, position)
        if len(self._told) >= QUEUE_EVENTS:
            self.end(StreamEndReason.SLOW_CLIENT)
            return
        STREAM_EVENTS.inc()
        self._preview = b""
        self._told.append((position, piece))
        self._woken.set()

    def preview(self, piece: bytes) -> None:
        """Something of which only the latest counts; it takes the place of one that was not read yet."""
        if self.why is None:
            self._preview = piece
            self._woken.set()

    def begin_behind(self, position: int) -> None:
        """Everything up to there is told by others."""
        self._told = deque(each for each in self._told if not each[0] or each[0] > position)
        self.heard = max(self.heard, position)

    def end(self, why: StreamEndReason) -> None:
        """Tell no more than why; what it did not read is told again when it comes back."""
        if self.why is None:
            self.why = why
            STREAMS_ENDED.labels(reason=why.value).inc()
            if why is not StreamEndReason.MAX_DURATION:
                self._told.clear()
            self._preview = b""
            self._woken.set()

    async def pieces(self) -> AsyncIterator[bytes]:
        """What the stream says, until it ends."""
        until = time.monotonic() + MAX_STREAM_SECONDS
        while True:
            while self._told:
                yield self._told.popleft()[1]
            if self._preview:
                piece, self._preview = self._preview, b""
                yield piece
            elif self.why is not None:
                yield format_end(self.why)
                return
            elif time.monotonic() > until:
                self.end(StreamEndReason.MAX_DURATION)
            elif not await self._wait_until_woken(min(HEARTBEAT_SECONDS, until - time.monotonic())):
                yield heartbeat(self.mark)

    async def _wait_until_woken(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(max(seconds, 0)):
                await self._woken.wait()
        except TimeoutError:
            return False
        self._woken.clear()
        return True


def format_event(name: str, payload: Mapping[str, object], mark: object = "") -> bytes:
    """One server-sent event; with a mark it is a place to go on from."""
    place = f"id: {mark}\n" if mark != "" else ""
    return f"{place}event: {name}\ndata: {json.dumps(payload, ensure_ascii=False)}\n\n".encode()


def format_retry() -> bytes:
    """How soon whoever is cut off comes again."""
    return f"retry: {RETRY_MS}\n\n".encode()


def heartbeat(mark: str) -> bytes:
    """Nothing happened, up to this place."""
    return f": still here\nid: {mark}\n\n".encode() if mark else b": still here\n\n"


def format_end(why: StreamEndReason) -> bytes:
    """The last event of a stream."""
    spread = random.randrange(RECONNECT_SPREAD_MS) if why is StreamEndReason.SHUTDOWN else 0  # noqa: S311  # no secret
    return f"retry: {RETRY_MS + spread}\n".encode() + format_event("end", {"reason": why.value})
