"""Starts child processes that never outlive the process that started them."""

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

WATCHDOG_SCRIPT = Path(__file__).with_name("parent_watchdog.py")
LIBC = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None
PR_SET_PDEATHSIG = 1
POLL_SECONDS = 0.02


class CannotStart(Exception):
    """A part cannot be started; the message is for the person at the terminal."""


@dataclass(frozen=True, slots=True)
class SystemUser:
    """A user of this machine that a child runs as."""

    user_id: int
    group_id: int


def spawn_child(
    command: Sequence[str | Path],
    *,
    when_orphaned: signal.Signals,
    account: SystemUser | None = None,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    log: IO[bytes] | None = None,
    complaints: IO[bytes] | None = None,
    foreground: bool = False,
) -> subprocess.Popen[bytes]:
    """Start a child that receives `when_orphaned` if this process dies. Ctrl-C reaches the child only in the foreground."""
    _refuse_other_threads()
    child = subprocess.Popen(
        [str(word) for word in command],
        cwd=cwd,
        env=env,
        stdin=None if foreground else subprocess.DEVNULL,
        stdout=log,
        stderr=complaints or (subprocess.STDOUT if log else None),
        start_new_session=not foreground,
        user=account.user_id if account else None,
        group=account.group_id if account else None,
        extra_groups=[] if account else None,
        preexec_fn=_set_parent_death_signal(LIBC, os.getpid(), when_orphaned) if LIBC else None,  # noqa: PLW1509 - one C call, no lock
    )
    if LIBC is None:
        _start_watchdog(child.pid, when_orphaned)
    return child


def stop_child(child: subprocess.Popen[bytes], first: signal.Signals, grace_seconds: float) -> None:
    """Send the signal `first`, wait, then kill the child and its process group."""
    if child.poll() is None:
        _signal_group(child, first)
        try:
            child.wait(grace_seconds)
        except subprocess.TimeoutExpired:
            _signal_group(child, signal.SIGKILL)
            child.wait()


def wait_until(true: Callable[[], bool], seconds: float, poll_seconds: float = POLL_SECONDS) -> bool:
    deadline = time.monotonic() + seconds
    while not true():
        if time.monotonic() > deadline:
            return False
        time.sleep(poll_seconds)
    return True


def is_alive(process_id: int) -> bool:
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def command_of(process_id: int) -> bytes:
    """Return the command line of a process, with words separated by NUL or spaces; empty if the process has ended."""
    cmdline = Path(f"/proc/{process_id}/cmdline")
    if cmdline.parent.parent.joinpath("self").exists():
        return cmdline.read_bytes() if cmdline.exists() else b""
    listing = subprocess.run(["ps", "-ww", "-o", "command=", "-p", str(process_id)], capture_output=True, check=False)
    return listing.stdout


def last_lines(log: Path, count: int = 15) -> str:
    if not log.exists():
        return ""
    return "\n".join(log.read_text(errors="replace").splitlines()[-count:])


def _refuse_other_threads() -> None:
    # Linux sends the parent-death signal when the spawning thread ends, not only when the process ends.
    if threading.current_thread() is not threading.main_thread():
        raise CannotStart("Start the parts from the main thread: they end together with the thread that started them.")


def _set_parent_death_signal(libc: ctypes.CDLL, parent_id: int, when_orphaned: signal.Signals) -> Callable[[], None]:
    # Popen changes the user before it calls this function; changing it afterwards would clear the parent-death signal.
    def ask_for_the_signal() -> None:
        libc.prctl(PR_SET_PDEATHSIG, int(when_orphaned))
        if os.getppid() != parent_id:
            os._exit(1)

    return ask_for_the_signal


def _start_watchdog(child_id: int, when_orphaned: signal.Signals) -> None:
    subprocess.Popen(
        [sys.executable, "-I", str(WATCHDOG_SCRIPT), str(os.getpid()), str(child_id), str(int(when_orphaned))],
        stdin=subprocess.DEVNULL,
        start_new_session=True,
    )


def _signal_group(child: subprocess.Popen[bytes], number: signal.Signals) -> None:
    try:
        os.killpg(child.pid, number)
    except (ProcessLookupError, PermissionError):
        child.send_signal(number)
