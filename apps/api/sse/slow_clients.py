"""Disconnects clients that stop reading, because the server would keep their unsent data as long as they stay connected."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any, Final

logger = logging.getLogger(__name__)

# A proxy or a browser that is still reading accepts data within this time.
STALLED_SECONDS: Final = 30.0
EVENT_STREAM_HEADER: Final = (b"content-type", b"text/event-stream")

# Any: types of the ASGI protocol
Send = Callable[[Any], Awaitable[None]]


class SendWithTimeout:
    """Sends to one client. In a stream, the client must accept each piece within a time limit."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._is_stream = False

    async def __call__(self, message: Any) -> None:
        """Send a message, or close the connection at the time limit."""
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
    """Drop the connection and its unsent data. A regular close would wait until that data is sent."""
    transport = getattr(send, "transport", None) or getattr(getattr(send, "__self__", None), "transport", None)
    if transport is None:
        raise ConnectionAbortedError(
            "The client no longer reads, and this server offers no way to drop the connection."
        )
    transport.abort()
