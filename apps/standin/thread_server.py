from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from apps.standin.http_api.endpoint import MessagesEndpoint
from apps.standin.http_api.server import LOOPBACK, listening_socket, server_for

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def run_standin_thread() -> Iterator[str]:
    """Run a stand-in in a thread on a free port, and yield its base URL."""
    listener = listening_socket(0)
    server = server_for(MessagesEndpoint())
    thread = threading.Thread(target=server.run, args=([listener],), name="stand-in model", daemon=True)
    thread.start()
    try:
        yield f"http://{LOOPBACK}:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        listener.close()
