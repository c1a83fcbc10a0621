"""What the turns of a benchmark stand on: a server, the stand-in model, a clock around its calls, and the server's own books."""

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
# What stands in quotes may hold semicolons; it is taken out before statements are told apart.
QUOTED_TEXT = re.compile(r"'(?:[^']|'')*'|\"[^\"]*\"|\$(\w*)\$.*?\$\1\$", re.DOTALL)
LOGGED_STATEMENT = re.compile(r"^(\d+)\|LOG:  (?:statement|execute [^:]*): ")
LOG_ENTRY = re.compile(r"^\d+\|")
# Savepoints are statements; these open and end transactions, and a goal of their own counts them.
TRANSACTION_WORDS = ("BEGIN", "COMMIT", "ROLLBACK")


class TurnRunner(Protocol):
    """Something that answers customers: a message comes in, and somebody takes the turn."""

    name: str

    def receive(self, thread: int, number: int) -> None:
        """A customer's message waits."""

    def take(self, thread: int, backend: ModelBackend) -> None:
        """Answer it."""

    def replies(self, thread: int) -> list[str]:
        """What this customer was answered, oldest first."""

    @property
    def read_skill(self) -> Mapping[str, object]:
        """The arguments with which the model reads a skill here."""

    @property
    def counted(self) -> int:
        """How many statements went to the database so far."""

    @property
    def process_id(self) -> int:
        """Of the database's process that serves this house."""


class TimedBackend:
    """A model whose time is kept, so that it can be taken off a turn's."""

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
    """What one client sent according to the server's log."""

    statements: tuple[str, ...]

    @property
    def transactions(self) -> int:
        """Those that somebody opened by a word of its own."""
        return sum(_first_word(statement) == "BEGIN" for statement in self.statements)

    @property
    def work(self) -> int:
        """Statements besides those that open and end transactions."""
        return sum(not is_transaction_word(statement) for statement in self.statements)


@dataclass
class TurnTestbed:
    """One server that waits for its disk as an installation's does, and one model in a process of its own."""

    server: Postgres
    standin_url: str
    watcher: psycopg.Connection = field(repr=False)

    def wal_position(self) -> int:
        """How many bytes the server has written to its log of changes so far."""
        row = self.watcher.execute("SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn").fetchone()
        return int(row[0]) if row else 0

    def checkpoint(self) -> None:
        """From here on the first change of each page is written whole, where whole pages are written."""
        self.watcher.execute("CHECKPOINT")

    def take_statistics(self, *databases: str) -> None:
        """What the server's own upkeep does by itself: statements are planned for tables as they are by now."""
        for database in databases:
            with psycopg.connect(self.server.url_for("postgres", database=database), autocommit=True) as owner:
                owner.execute("ANALYZE")

    def configure(self, **values: str) -> None:
        """Change settings of the server; connections made from now on know them."""
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
        """What the model does next, and nothing of what was left to do."""
        body = json.dumps(steps).encode()
        address = HttpRequest(f"{self.standin_url}/standin/script", data=body, method="POST")  # noqa: S310  # loopback
        urlopen(address).close()  # noqa: S310  # loopback

    def read_log(self, process_id: int, start: int, end: int) -> LoggedStatements:
        """What the client of this process sent while the log grew from `start` bytes to `end`."""
        text = self.server.log.read_bytes()[start:end].decode(errors="replace")
        return LoggedStatements(tuple(logged_statements(text.splitlines(), process_id)))

    @property
    def log_bytes(self) -> int:
        return self.server.log.stat().st_size


def logged_statements(lines: Sequence[str], process_id: int) -> Iterator[str]:
    """The statements of one client among the lines of a server's log that begin with process ids."""
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
    """The statements of one message to the server, with their names and without their words."""
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
    """Everything started, and gone afterwards."""
    home = own_folder()
    server = Postgres(home)
    server.start()
    try:
        with (
            standin_process(home) as standin_url,
            psycopg.connect(server.url, autocommit=True) as watcher,
        ):
            stands = TurnTestbed(server, standin_url, watcher)
            # Settings of the server's own upkeep, which would write and log between two readings.
            stands.configure(autovacuum="off", log_line_prefix="%p|", checkpoint_timeout="1h", max_wal_size="4GB")
            yield stands
    finally:
        server.stop()
        shutil.rmtree(home, ignore_errors=True)


@contextmanager
def standin_process(home: Path) -> Iterator[str]:
    """The stand-in model in a process of its own, and its address."""
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
