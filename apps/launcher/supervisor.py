"""Named processes that start together, are watched together and stop together."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from types import FrameType
from urllib.error import URLError

from apps.launcher.child_processes import CannotStart, last_lines, spawn_child, stop_child, wait_until
from apps.launcher.data_folders import PROJECT, hold_file_lock, private_folder

HOST = "127.0.0.1"
READY_SECONDS = 120
STOP_SECONDS = 10
WATCH_SECONDS = 0.1
FOREVER_SECONDS = float("inf")
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class PartStopped(Exception):
    """A process ended that should have kept running. The message contains the end of its log."""


@dataclass(frozen=True, slots=True)
class Program:
    """A process to keep running, and how to tell from its log that it is ready."""

    name: str
    command: tuple[str, ...]
    is_ready: Callable[[Path], bool]


class Supervisor:
    """Runs programs in the project's folder, and stops them in reverse order when the block ends."""

    def __init__(self, logs: Path, env: Mapping[str, str]) -> None:
        self._logs = logs
        self._env = {**env, "PYTHONUNBUFFERED": "1"}
        self._running: list[subprocess.Popen[bytes]] = []
        self._watched: list[tuple[str, subprocess.Popen[bytes], Path]] = []
        logs.mkdir(mode=0o700, parents=True, exist_ok=True)

    def __enter__(self) -> "Supervisor":
        return self

    def __exit__(self, *exception: object) -> None:
        while self._running:
            stop_child(self._running.pop(), signal.SIGTERM, STOP_SECONDS)

    def start(self, program: Program) -> None:
        with self._log(program.name).open("wb") as log:
            child = spawn_child(program.command, when_orphaned=signal.SIGKILL, cwd=PROJECT, env=self._env, log=log)
        self._running.append(child)
        self.watch_over(program.name, child, self._log(program.name))

    def watch_over(self, name: str, child: subprocess.Popen[bytes], log: Path) -> None:
        """Treat the end of this child as a failure. The caller that started the child also stops it."""
        self._watched.append((name, child, log))

    def await_ready(self, program: Program) -> None:
        log = self._log(program.name)
        if not wait_until(lambda: self._check() or program.is_ready(log), READY_SECONDS):
            raise CannotStart(f"{program.name} was not ready after {READY_SECONDS} seconds:\n{last_lines(log)}")

    def run(self, name: str, command: Sequence[str], env: Mapping[str, str] | None = None) -> str:
        """Run a command to its end and return its output; its error output goes to the log with this name."""
        log, printed = self._log(name), self._logs / f"{name}.out"
        with log.open("wb") as complaints, printed.open("wb") as output:
            env = {**self._env, **(env or {})}
            child = spawn_child(
                command, when_orphaned=signal.SIGKILL, cwd=PROJECT, env=env, log=output, complaints=complaints
            )
        try:
            code, output_text = self._wait(child), printed.read_text()
        finally:
            stop_child(child, signal.SIGTERM, STOP_SECONDS)
            # The output may contain a password, so it is not kept on disk.
            printed.unlink()
        if code != 0:
            raise CannotStart(f"{name} failed with code {code}:\n{output_text}{last_lines(log)}")
        return output_text

    def play(self, command: Sequence[str], env: Mapping[str, str]) -> int:
        """Run a command that prints to the terminal, and return its exit code. The programs are watched meanwhile."""
        child = spawn_child(command, when_orphaned=signal.SIGKILL, cwd=PROJECT, env={**self._env, **env})
        try:
            return self._wait(child)
        finally:
            stop_child(child, signal.SIGTERM, STOP_SECONDS)

    def watch(self) -> None:
        """Watch until a program ends or a signal arrives; always ends by raising."""
        wait_until(self._check, FOREVER_SECONDS, WATCH_SECONDS)

    def _wait(self, child: subprocess.Popen[bytes]) -> int:
        wait_until(lambda: self._check() or child.poll() is not None, FOREVER_SECONDS, WATCH_SECONDS)
        return child.wait()

    def _check(self) -> bool:
        for name, child, log in self._watched:
            if child.poll() is not None:
                raise PartStopped(f"{name} ended with code {child.returncode}:\n{last_lines(log)}")
        return False

    def _log(self, name: str) -> Path:
        return self._logs / f"{name}.log"


def answers_http(url: str) -> Callable[[Path], bool]:
    """Return a check that passes if the address answers with status 200; proxies from the environment are ignored."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def is_ready(_: Path) -> bool:
        try:
            with opener.open(url, timeout=5) as response:
                return int(response.status) == HTTPStatus.OK
        except (URLError, OSError):
            return False

    return is_ready


def log_contains(words: str) -> Callable[[Path], bool]:
    """Return a check that passes if the program's log contains these words."""
    return lambda log: words in log.read_text(errors="replace")


def free_port(preferred: int) -> int:
    """Return the preferred port, or a free port if another program listens on the preferred one."""
    for port in (preferred, 0):
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((HOST, port))
            except OSError:
                continue
            return int(probe.getsockname()[1])
    raise CannotStart(f"No port is free on {HOST}.")


@contextmanager
def reserve_port(preferred: int) -> Iterator[int]:
    """Reserve the preferred port, or a free one if it is in use or reserved by another launcher of this user.

    A program that will listen on a port takes it only seconds later, so a free port says nothing about a second launcher.
    """
    folder = private_folder(Path(tempfile.gettempdir()) / f"preceptor-ports-{os.geteuid()}", None)
    with ExitStack() as reservation:
        port = free_port(preferred)
        while not _holds_lock(folder / f"{port}.lock", reservation):
            port = free_port(0)
        yield port


def _holds_lock(lock: Path, reservation: ExitStack) -> bool:
    try:
        reservation.enter_context(hold_file_lock(lock, wait=False))
    except BlockingIOError:
        return False
    return True


@contextmanager
def stop_on_signals() -> Iterator[None]:
    """Raise KeyboardInterrupt at the first Ctrl-C, TERM or hang-up signal; later signals do not interrupt the shutdown."""

    def end(_number: int, _frame: FrameType | None) -> None:
        for ending in STOP_SIGNALS:
            signal.signal(ending, signal.SIG_IGN)
        raise KeyboardInterrupt

    # nohup deliberately ignores the hang-up signal; a shell starts background jobs with SIGINT ignored.
    ignored = {signal.SIGHUP} if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN else set()
    before = {ending: signal.signal(ending, end) for ending in STOP_SIGNALS if ending not in ignored}
    try:
        yield
    finally:
        for ending, handler in before.items():
            signal.signal(ending, handler)


def run_in_foreground(command: Sequence[str], env: Mapping[str, str]) -> int:
    """Run the command in the foreground of the terminal. The command handles Ctrl-C itself; TERM is passed on to it."""
    child = spawn_child(command, when_orphaned=signal.SIGTERM, env=env, foreground=True)
    signal.signal(signal.SIGINT, lambda *_: None)
    signal.signal(signal.SIGTERM, lambda *_: child.terminate())
    code = child.wait()
    return code if code >= 0 else 128 - code


def python_command(*words: str) -> tuple[str, ...]:
    return (sys.executable, *words)
