"""One open stream: its queue of events, its time limit, and the reason it ended."""

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

# A client that reads more slowly than events arrive is disconnected and resumes later, so its queue stays small.
QUEUE_EVENTS: Final = 256
# Proxies close long connections; a client that is disconnected reconnects and resumes.
HEARTBEAT_SECONDS: Final = 15.0
MAX_STREAM_SECONDS: Final = 600.0
RETRY_MS: Final = 1_000
# When a process shuts down, its clients do not all reconnect at the same moment.
RECONNECT_SPREAD_MS: Final = 4_000


class StreamEndReason(StrEnum):
    """Why the server ended a stream. The client may resume after its last event, unless it has lost access."""

    MAX_DURATION = "max_duration"
    SLOW_CLIENT = "slow_client"
    SHUTDOWN = "shutdown"
    ACCESS_LOST = "access_lost"


class Subscriber:
    """One open stream. Used by the event loop only."""

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
        """Return whether the client has received all its events."""
        return not self._told

    def tell(self, piece: bytes, position: int = 0) -> None:
        """Queue an event, unless the client already has it."""
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
        """Set a piece of which only the latest version counts; it replaces an unsent one."""
        if self.why is None:
            self._preview = piece
            self._woken.set()

    def begin_behind(self, position: int) -> None:
        """Drop queued events up to the position, because they are sent by other means."""
        self._told = deque(each for each in self._told if not each[0] or each[0] > position)
        self.heard = max(self.heard, position)

    def end(self, why: StreamEndReason) -> None:
        """End the stream with a reason. Unsent events are sent again when the client resumes."""
        if self.why is None:
            self.why = why
            STREAMS_ENDED.labels(reason=why.value).inc()
            if why is not StreamEndReason.MAX_DURATION:
                self._told.clear()
            self._preview = b""
            self._woken.set()

    async def pieces(self) -> AsyncIterator[bytes]:
        """Yield the events of the stream until it ends."""
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
    """Format a server-sent event; `mark` is an id to resume from."""
    place = f"id: {mark}\n" if mark != "" else ""
    return f"{place}event: {name}\ndata: {json.dumps(payload, ensure_ascii=False)}\n\n".encode()


def format_retry() -> bytes:
    """Format the delay after which a disconnected client reconnects."""
    return f"retry: {RETRY_MS}\n\n".encode()


def heartbeat(mark: str) -> bytes:
    """Format a comment that keeps the connection alive; `mark` is an id to resume from."""
    return f": still here\nid: {mark}\n\n".encode() if mark else b": still here\n\n"


def format_end(why: StreamEndReason) -> bytes:
    """Format the last event of a stream."""
    spread = random.randrange(RECONNECT_SPREAD_MS) if why is StreamEndReason.SHUTDOWN else 0  # noqa: S311  # no secret
    return f"retry: {RETRY_MS + spread}\n".encode() + format_event("end", {"reason": why.value})
