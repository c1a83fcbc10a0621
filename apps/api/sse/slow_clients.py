"""A reader who takes nothing any more: the server would hold what was sent to them for as long as they stay connected."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, Final

logger = logging.getLogger(__name__)

# A proxy or a browser that still reads has taken something by then.
STALLED_SECONDS: Final = 30.0
EVENT_STREAM_HEADER: Final = (b"content-type", b"text/event-stream")

# Any: what the servers' own protocol hands about.
Send = Callable[[Any], Awaitable[None]]


class SendWithTimeout:
    """What is sent to one client; from a stream on, each piece has to be taken within a time."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._is_stream = False

    async def __call__(self, message: Any) -> None:
        """Send it, or hang up."""
        if message["type"] == "http.response.start":
            self._is_stream = any(header == EVENT_STREAM_HEADER for header in message["headers"])
        if not self._is_stream:
            await self._send(message)
            return
        try:
            async with asyncio.timeout(STALLED_SECONDS):
                await self._send(message)
        except TimeoutError:
            logger.info("slow stream client dropped")
            hang_up(self._send)


def hang_up(send: Send) -> None:
    """Drop the connection with what it has not taken. Closing it would wait for that."""
    transport = getattr(send, "transport", None) or getattr(getattr(send, "__self__", None), "transport", None)
    if transport is None:
        raise ConnectionAbortedError("The reader takes nothing any more, and this server knows no way to hang up.")
    transport.abort()
