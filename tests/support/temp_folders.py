"""Temporary folders of one process: removed when it ends or, if it was killed, at the start of the next one."""

import atexit
import fcntl
import os
import shutil
import tempfile
import time
from pathlib import Path

PREFIX = "pcp-"
LOCK_NAME = ".held"
# Between its creation and its lock a folder looks like an abandoned one.
YOUNG_SECONDS = 60

_open_locks: list[int] = []


def own_folder() -> Path:
    """Make a folder that others may enter but not list."""
    folder = Path(tempfile.mkdtemp(prefix=PREFIX))
    folder.chmod(0o711)
    hold = os.open(folder / LOCK_NAME, os.O_WRONLY | os.O_CREAT, 0o600)
    fcntl.flock(hold, fcntl.LOCK_EX)
    # Never closed: the kernel releases the lock when this process ends, however it ends.
    _open_locks.append(hold)
    atexit.register(_remove, folder, os.getpid())
    return folder


def _remove(folder: Path, maker: int) -> None:
    # A process forked from the maker runs this at its end too.
    if os.getpid() == maker:
        shutil.rmtree(folder, ignore_errors=True)


def sweep_folders(place: Path | None = None) -> list[Path]:
    """Remove the folders that killed processes left."""
    holds = (place or Path(tempfile.gettempdir())).glob(f"{PREFIX}*/{LOCK_NAME}")
    left = [hold.parent for hold in holds if _is_abandoned(hold)]
    for folder in left:
        shutil.rmtree(folder, ignore_errors=True)
    return left


def _is_abandoned(hold: Path) -> bool:
    try:
        if time.time() - hold.stat().st_mtime < YOUNG_SECONDS:
            return False
        with hold.open("rb") as asking:
            fcntl.flock(asking, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        # Somebody has locked it, or it belongs to another user, or it was removed just now.
        return False
    return True
