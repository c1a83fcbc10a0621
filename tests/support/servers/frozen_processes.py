"""Freezes processes of servers: the kernel still accepts connections to them, and nothing answers."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def frozen(*process_ids: int) -> Iterator[None]:
    """Stop these processes where they are, and let them go on at the end."""
    try:
        for each in process_ids:
            os.kill(each, signal.SIGSTOP)
        yield
    finally:
        for each in process_ids:
            os.kill(each, signal.SIGCONT)
