"""When a web process is told to end. The server waits for its answers to be whole, and a stream would not be for minutes."""

import asyncio
import signal
from collections.abc import Callable
from types import FrameType
from typing import Final

# What uvicorn ends by.
SHUTDOWN_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


def on_shutdown(loop: asyncio.AbstractEventLoop, call: Callable[[], None]) -> None:
    """Have something done in the loop when the server is told to end, besides what the server does then.

    The server's lifespan ends only once all answers have, so nothing else tells of it in time. Where no server has a say, as in
    tests and commands, nothing is changed.
    """
    for number in SHUTDOWN_SIGNALS:
        server = signal.getsignal(number)
        if not callable(server) or getattr(server, "tells_streams", False) or server is signal.default_int_handler:
            continue
        try:
            signal.signal(number, _signal_handler(loop, call, server))
        except ValueError:
            # Not the main thread: whoever runs a server there ends it by other means.
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

    told.tells_streams = True  # type: ignore[attr-defined]  # so that nobody is told twice
    return told
