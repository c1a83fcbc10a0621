"""Set-up of the turn benchmarks: a server, the stand-in model, a clock around its calls, and the server's log."""

import json
import re
import shutil
import signal
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol
from urllib.request import Request as HttpRequest
from urllib.request import urlopen

import psycopg
from psycopg import sql

from apps.launcher.child_processes import spawn_child, stop_child, wait_until
from apps.launcher.data_folders import PROJECT
from apps.launcher.postgres import Postgres
from apps.llm.model_backend import ModelBackend, ModelReply, ModelRequest
from tests.support.temp_folders import own_folder

READY_SECONDS = 30
# Quoted text may contain semicolons; it is removed before the text is split into statements.
QUOTED_TEXT = re.compile(r"'(?:[^']|'')*'|\"[^\"]*\"|\$(\w*)\$.*?\$\1\$", re.DOTALL)
LOGGED_STATEMENT = re.compile(r"^(\d+)\|LOG:  (?:statement|execute [^:]*): ")
LOG_ENTRY = re.compile(r"^\d+\|")
# Savepoints count as statements; these words open and end transactions, which have a goal of their own.
TRANSACTION_WORDS = ("BEGIN", "COMMIT", "ROLLBACK")


class TurnRunner(Protocol):
    """One implementation of a turn: it receives a message and takes the turn."""

    name: str

    def receive(self, thread: int, number: int) -> None:
        """Store a customer's message."""

    def take(self, thread: int, backend: ModelBackend) -> None:
        """Take the turn and answer it."""

    def replies(self, thread: int) -> list[str]:
        """Return this customer's answers, oldest first."""

    @property
    def read_skill(self) -> Mapping[str, object]:
        """Return the arguments with which the model reads a skill here."""

    @property
    def counted(self) -> int:
        """Return the number of statements sent to the database so far."""

    @property
    def process_id(self) -> int:
        """Return the id of the database process that serves this side."""


class TimedBackend:
    """A backend that measures the model's time, to subtract it from a turn's."""

    def __init__(self, backend: ModelBackend) -> None:
        self._backend = backend
        self.seconds = 0.0
        self.requests: list[ModelRequest] = []

    def complete(self, request: ModelRequest) -> ModelReply:
        self.requests.append(request)
        begun = time.perf_counter()
        try:
            return self._backend.complete(request)
        finally:
            self.seconds += time.perf_counter() - begun


@dataclass(frozen=True, slots=True)
class LoggedStatements:
    """The statements of one client according to the server's log."""

    statements: tuple[str, ...]

    @property
    def transactions(self) -> int:
        """The number of transactions that were opened by an explicit statement."""
        return sum(_first_word(statement) == "BEGIN" for statement in self.statements)

    @property
    def work(self) -> int:
        """The number of statements without those that open and end transactions."""
        return sum(not is_transaction_word(statement) for statement in self.statements)


@dataclass
class TurnTestbed:
    """One server that waits for its disk as an installation's does, and one model in a process of its own."""

    server: Postgres
    standin_url: str
    watcher: psycopg.Connection = field(repr=False)

    def wal_position(self) -> int:
        """Return the bytes that the server has written to its write-ahead log so far."""
        row = self.watcher.execute("SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn").fetchone()
        return int(row[0]) if row else 0

    def checkpoint(self) -> None:
        """Make a checkpoint; after it, the first change of each page is logged with the whole page if that is enabled."""
        self.watcher.execute("CHECKPOINT")

    def take_statistics(self, *databases: str) -> None:
        """Run the server's own upkeep now, so that statements are planned for tables of their present size."""
        for database in databases:
            with psycopg.connect(self.server.url_for("postgres", database=database), autocommit=True) as owner:
                owner.execute("ANALYZE")

    def configure(self, **values: str) -> None:
        """Change settings of the server; connections opened from now on have them."""
        for name, value in values.items():
            self.watcher.execute(sql.SQL("ALTER SYSTEM SET {} = {}").format(sql.Identifier(name), sql.Literal(value)))
        self.watcher.execute("SELECT pg_reload_conf()")
        for name, value in values.items():
            if not wait_until(lambda: self._setting(name) == value, READY_SECONDS):  # noqa: B023  # called here
                raise RuntimeError(f"The server did not take {name} = {value}.")

    def _setting(self, name: str) -> str:
        with psycopg.connect(self.server.url, autocommit=True) as fresh:
            row = fresh.execute("SELECT current_setting(%s)", [name]).fetchone()
        return str(row[0]) if row else ""

    def play(self, *steps: Mapping[str, object]) -> None:
        """Set the model's next steps, and drop those that were left."""
        body = json.dumps(steps).encode()
        address = HttpRequest(f"{self.standin_url}/standin/script", data=body, method="POST")  # noqa: S310  # loopback
        urlopen(address).close()  # noqa: S310  # loopback

    def read_log(self, process_id: int, start: int, end: int) -> LoggedStatements:
        """Return the statements of this process's client while the log grew from `start` to `end` bytes."""
        text = self.server.log.read_bytes()[start:end].decode(errors="replace")
        return LoggedStatements(tuple(logged_statements(text.splitlines(), process_id)))

    @property
    def log_bytes(self) -> int:
        return self.server.log.stat().st_size


def logged_statements(lines: Sequence[str], process_id: int) -> Iterator[str]:
    """Yield the statements of one client among the lines of a server's log, which begin with process ids."""
    entry: list[str] = []
    for line in [*lines, "0|"]:
        if not LOG_ENTRY.match(line):
            entry.append(line)
            continue
        began = LOGGED_STATEMENT.match(entry[0]) if entry else None
        if began and int(began[1]) == process_id:
            yield from statements_in("\n".join(entry)[began.end() :])
        entry = [line]


def statements_in(text: str) -> list[str]:
    """Return the statements of one message to the server, with their names and without their values."""
    return [piece.strip() for piece in QUOTED_TEXT.sub(_mask_literal, text).split(";") if piece.strip()]


def _mask_literal(quoted: re.Match[str]) -> str:
    is_name = quoted[0].startswith('"') and ";" not in quoted[0]
    return quoted[0] if is_name else "''"


def is_transaction_word(statement: str) -> bool:
    return _first_word(statement) in TRANSACTION_WORDS and " TO " not in f"{statement.upper()} "


def _first_word(statement: str) -> str:
    return statement.split(maxsplit=1)[0].upper()


@contextmanager
def ground() -> Iterator[TurnTestbed]:
    """Start everything, and remove it afterwards."""
    home = own_folder()
    server = Postgres(home)
    server.start()
    try:
        with (
            standin_process(home) as standin_url,
            psycopg.connect(server.url, autocommit=True) as watcher,
        ):
            stands = TurnTestbed(server, standin_url, watcher)
            # Upkeep of the server would write and log between two readings.
            stands.configure(autovacuum="off", log_line_prefix="%p|", checkpoint_timeout="1h", max_wal_size="4GB")
            yield stands
    finally:
        server.stop()
        shutil.rmtree(home, ignore_errors=True)


@contextmanager
def standin_process(home: Path) -> Iterator[str]:
    """Run the stand-in model in a process of its own; yield its address."""
    port_file = home / "port"
    command = (sys.executable, "-m", "apps.standin", "--port-file", port_file)
    with (home / "standin.log").open("wb") as log:
        child = spawn_child(command, when_orphaned=signal.SIGKILL, cwd=PROJECT, log=log)
    try:
        if not wait_until(port_file.exists, READY_SECONDS):
            raise RuntimeError("The stand-in model did not start.")
        yield f"http://127.0.0.1:{port_file.read_text().strip()}"
    finally:
        stop_child(child, signal.SIGTERM, 5)
