"""Ends streams when a web process shuts down, since the server waits for open responses, and streams stay open for minutes."""

import asyncio
import signal
from collections.abc import Callable
from types import FrameType
from typing import Final

# The signals on which uvicorn shuts down.
SHUTDOWN_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


def on_shutdown(loop: asyncio.AbstractEventLoop, call: Callable[[], None]) -> None:
    """Call `call` in the loop when the server receives a shutdown signal, in addition to the server's own handling.

    The server's lifespan ends only after all responses have ended, so it comes too late. Without a server, as in tests and
    commands, nothing changes.
    """
    for number in SHUTDOWN_SIGNALS:
        server = signal.getsignal(number)
        if not callable(server) or getattr(server, "tells_streams", False) or server is signal.default_int_handler:
            continue
        try:
            signal.signal(number, _signal_handler(loop, call, server))
        except ValueError:
            # Not in the main thread: a server in another thread is stopped by other means.
            return


def _signal_handler(
    loop: asyncio.AbstractEventLoop,
    call: Callable[[], None],
    server: Callable[[int, FrameType | None], object],
) -> Callable[[int, FrameType | None], None]:
    def told(number: int, frame: FrameType | None) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(call)
        server(number, frame)

    told.tells_streams = True  # type: ignore[attr-defined]  # so that the call is added only once
    return told
