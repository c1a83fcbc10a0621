"""A thousand SSE readers of one web process and a stalled client: memory per reader, and delay of the slowest after a commit.

`python -m benchmarks.sse_streams` starts a PostgreSQL and a web process of its own and prints a table beside the goals. It fails
if a reader missed an event or got one twice, and with `--strict` also if a goal is missed; `--quick` uses 100 readers.
"""

import argparse
import asyncio
import os
import resource
import shutil
import signal
import socket
import statistics
import sys
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
django.setup()

from django.conf import settings  # noqa: E402  # after Django's set-up
from django.test import Client  # noqa: E402
from rich.console import Console  # noqa: E402
from rich.table import Table  # noqa: E402

from apps.desk.actions import open_escalation  # noqa: E402
from apps.desk.models import Escalation  # noqa: E402
from apps.launcher.child_processes import CannotStart, last_lines, spawn_child, stop_child, wait_until  # noqa: E402
from apps.launcher.data_folders import PROJECT  # noqa: E402
from apps.launcher.postgres import Postgres  # noqa: E402
from apps.launcher.supervisor import HOST, answers_http, free_port, python_command  # noqa: E402
from tests.settings import PREFIX  # noqa: E402
from tests.support.database.clones import clone_database, close_connections  # noqa: E402
from tests.support.database.migrated_cluster import TEMPLATE, ready_server  # noqa: E402
from tests.support.temp_folders import own_folder  # noqa: E402
from tests.support.worlds.world import World, make_conversation, make_member, make_world  # noqa: E402

WHOLE, QUICK, FEW = 1_000, 100, 10
COMMITS = 20
PEOPLE = 10
KILOBYTES, SECONDS = 160, 2.0
CONNECT_BATCH = 25
OPEN_FILES_BESIDE = 200
READY_SECONDS, PATIENCE_SECONDS = 120, 120


@dataclass
class Reader:
    """One client, and the moment at which each question arrived."""

    heard: dict[int, float] = field(default_factory=dict)
    twice: int = 0
    is_there: asyncio.Event = field(default_factory=asyncio.Event)

    async def read(self, port: int, headers: str) -> None:
        """Read the stream until it is cancelled."""
        stream, writer = await asyncio.open_connection(HOST, port)
        try:
            writer.write(_request(headers))
            event = ""
            async for line in stream:
                if line.startswith(b"event: "):
                    event = line[7:].decode().strip()
                    if event == "counts":
                        self.is_there.set()
                elif line.startswith(b"data: ") and event == "escalation":
                    number = int(line.partition(b'"id": ')[2].partition(b",")[0])
                    self.twice += number in self.heard
                    self.heard.setdefault(number, time.perf_counter())
        finally:
            writer.close()


def _request(headers: str) -> bytes:
    return f"GET /api/v1/review/stream/ HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n\r\n".encode()


@contextmanager
def open_stalled_client(port: int, headers: str) -> Iterator[None]:
    """Open a client that sends a request and reads as little as its system allows."""
    with socket.socket() as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        deaf.connect((HOST, port))
        deaf.sendall(_request(headers))
        yield


@contextmanager
def web(server: Postgres, readers: int) -> Iterator[tuple[int, int]]:
    """Run a web process as an installation does; yield its port and its process id."""
    home, port = own_folder(), free_port(0)
    env = dict(os.environ) | {
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "DATABASE_URL": server.url_for(f"{PREFIX}_login", database=PREFIX),
        "DATABASE_OWNER_URL": "",
        "DATABASE_ROLE_PREFIX": PREFIX,
        "PRECEPTOR_HOME": str(home),
        "SECRET_KEY": settings.SECRET_KEY,
        "STREAMS_PER_PROCESS": str(readers + PEOPLE),
        "STREAMS_PER_TENANT": str(readers + PEOPLE),
    }
    log = home / "web.log"
    command = python_command(
        "-m",
        "uvicorn",
        "config.asgi:application",
        "--host",
        HOST,
        "--port",
        str(port),
        "--lifespan",
        "on",
        "--http",
        "h11",
    )
    with log.open("wb") as handle:
        child = spawn_child(command, when_orphaned=signal.SIGKILL, cwd=PROJECT, env=env, log=handle)
    try:
        is_up = answers_http(f"http://{HOST}:{port}/healthz")
        if not wait_until(lambda: is_up(log), READY_SECONDS, 0.2):
            raise CannotStart(f"The web process did not start:\n{last_lines(log)}")
        yield port, child.pid
    finally:
        stop_child(child, signal.SIGTERM, 30)
        shutil.rmtree(home, ignore_errors=True)


def cookies(world: World) -> list[str]:
    """Return headers of signed-in people."""
    users = [make_member(world, f"reader-{number}").user for number in range(PEOPLE)]
    headers = []
    for user in users:
        client = Client()
        client.force_login(user)
        headers.append(f"Cookie: {settings.SESSION_COOKIE_NAME}={client.cookies[settings.SESSION_COOKIE_NAME].value}")
    return headers


@asynccontextmanager
async def open_readers(port: int, headers: Sequence[str], count: int) -> AsyncIterator[list[Reader]]:
    """Open so many readers, and wait until all are connected."""
    readers = [Reader() for _ in range(count)]
    tasks: list[asyncio.Task[None]] = []
    for place in range(0, count, CONNECT_BATCH):
        some = readers[place : place + CONNECT_BATCH]
        for number, reader in enumerate(some, place):
            tasks.append(asyncio.create_task(reader.read(port, headers[number % len(headers)])))
        async with asyncio.timeout(PATIENCE_SECONDS):
            await asyncio.gather(*(reader.is_there.wait() for reader in some))
    try:
        yield readers
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def slowest_delays(world: World, readers: Sequence[Reader], prefix: str) -> list[float]:
    """Return the seconds from each commit until the last reader got the event."""
    waits = []
    for number in range(COMMITS):
        asked, committed = await asyncio.to_thread(open_question, world, f"{prefix}-{number}")
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not all(asked in reader.heard for reader in readers):
                await asyncio.sleep(0.002)
        waits.append(max(0.0, max(reader.heard[asked] for reader in readers) - committed))
    return waits


def open_question(world: World, key: str) -> tuple[int, float]:
    """Open one more question; return its id and the moment of the commit."""
    thread = make_conversation(world, f"http:{key}")
    row = open_escalation(
        thread.pk,
        actor=world.operator,
        agent_id=world.agent.pk,
        turn_id=None,
        reason=Escalation.Reason.POLICY,
        question="May I refund this?",
    )
    committed = time.perf_counter()
    close_connections()
    return row.pk, committed


def memory_kb(process_id: int) -> int:
    """Return the resident memory of a process in kB."""
    with open(f"/proc/{process_id}/status", encoding="ascii") as status:  # noqa: PTH123  # no file of ours
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS:"))


@dataclass(frozen=True, slots=True)
class StreamFigures:
    """The results of a run."""

    few: Sequence[float]
    many: Sequence[float]
    kilobytes: float
    twice: int


async def measure(world: World, headers: Sequence[str], port: int, process_id: int, count: int) -> StreamFigures:
    """Measure with ten readers first, then with all of them and the stalled client."""
    async with open_readers(port, headers, FEW) as readers:
        few = await slowest_delays(world, readers, "few")
    before = memory_kb(process_id)
    with open_stalled_client(port, headers[0]):
        async with open_readers(port, headers, count) as readers:
            kilobytes = (memory_kb(process_id) - before) / count
            many = await slowest_delays(world, readers, "many")
            return StreamFigures(few, many, kilobytes, sum(reader.twice for reader in readers))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sse_streams", description=__doc__)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK} readers")
    parser.add_argument("--strict", action="store_true", help="fail too where a goal is missed")
    options = parser.parse_args(arguments)
    count = QUICK if options.quick else WHOLE
    raise_open_files(count)
    with ready_server() as server:
        clone_database(server, TEMPLATE, PREFIX)
        world = make_world()
        headers = cookies(world)
        close_connections()
        with web(server, count) as (port, process_id):
            figures = asyncio.run(measure(world, headers, port, process_id, count))
    few, many = statistics.median(figures.few), statistics.median(figures.many)
    table = Table("what", "figure", "goal", title="Readers of one web process")
    table.add_row("readers, people, commits heard by each", f"{count:,}, {PEOPLE}, {COMMITS}", "")
    table.add_row("KB of the process for each", f"{figures.kilobytes:.0f}", f"{KILOBYTES}")
    table.add_row(
        f"seconds from commit to the slowest of {FEW}, median and worst", f"{few:.3f}, {max(figures.few):.3f}", ""
    )
    table.add_row(
        f"the same of {count:,}, and one who never reads", f"{many:.3f}, {max(figures.many):.3f}", f"{SECONDS}"
    )
    table.add_row("the one as a multiple of the other", f"{many / few:.1f}", "")
    table.add_row("events missed, heard twice", f"0, {figures.twice}", "0, 0")
    Console(width=120).print(table)
    missed = figures.kilobytes > KILOBYTES or many > SECONDS
    return int(bool(figures.twice) or (options.strict and missed))


def raise_open_files(readers: int) -> None:
    """Raise the limit of open files for this process and its child: a reader is a file on each side."""
    wanted = readers + OPEN_FILES_BESIDE
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < wanted:
        raise CannotStart(f"{readers} readers need {wanted} open files, and this account may have {hard}.")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))


if __name__ == "__main__":
    sys.exit(main())
