"""Signals a child when its parent ends, where the kernel has no parent-death signal (macOS). Run as a script, never imported."""

import os
import sys
import time

POLL_SECONDS = 0.25


def _is_alive(process_id: int) -> bool:
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def watch_parent(parent_id: int, child_id: int, signal_number: int) -> None:
    """Return when the child has ended. If the parent ends first, send the signal to the child."""
    while _is_alive(child_id):
        if os.getppid() != parent_id:
            os.kill(child_id, signal_number)
            return
        time.sleep(POLL_SECONDS)


if __name__ == "__main__":
    watch_parent(*(int(word) for word in sys.argv[1:4]))
