"""Cost of telling web processes about a commit: a PostgreSQL notification, or a message of the broker.

`python -m benchmarks.notify_or_broker` starts a PostgreSQL that waits for its disk, a broker and, where it is installed, pgbouncer.
It prints the commits per second of eight writers without a signal, with `pg_notify` in the commit, or with a publish; the
delay until one listener hears; and how many of 200 arrive through pgbouncer in transaction mode. Nothing here fails.
"""

import argparse
import shutil
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import psycopg
import redis
from rich.console import Console
from rich.table import Table

from apps.launcher.child_processes import CannotStart
from apps.launcher.postgres import Postgres
from apps.launcher.valkey import Valkey
from tests.settings import PREFIX
from tests.support.database.connection_pools import SOCKET, running_pgbouncer
from tests.support.temp_folders import own_folder

WRITERS, SECONDS, ROUNDS, TOLD = 8, 2.0, 3, 200
CHANNEL = "benchmark"

Publisher = Callable[[], object]


def rate(server: Postgres, tell: str, behind: Callable[[], Publisher]) -> float:
    """Return the commits per second of all writers together."""
    ends = time.monotonic() + SECONDS

    def write(_: int) -> int:
        publish, done = behind(), 0
        with psycopg.connect(server.url) as connection:
            while time.monotonic() < ends:
                connection.execute("INSERT INTO told (words) VALUES (repeat('x', 400))")
                if tell:
                    connection.execute(tell)
                connection.commit()
                publish()
                done += 1
        return done

    with ThreadPoolExecutor(WRITERS) as writers:
        return sum(writers.map(write, range(WRITERS))) / SECONDS


def database_delays(address: str, server: Postgres) -> list[float]:
    """Return the milliseconds from each commit until the notification arrives at the address; lost ones are left out."""
    heard: dict[str, float] = {}
    with psycopg.connect(address, autocommit=True, prepare_threshold=None) as connection:
        connection.execute(f"LISTEN {CHANNEL}")
        stop = threading.Event()

        def listen() -> None:
            while not stop.is_set():
                for notice in connection.notifies(timeout=0.2):
                    heard[notice.payload] = time.perf_counter()

        return _measure_delays(lambda number: _commit(server, number), heard, listen, stop)


def broker_delays(url: str, server: Postgres) -> list[float]:
    """Return the milliseconds from each commit until a message published after it arrives."""
    heard: dict[str, float] = {}
    stop = threading.Event()
    with (
        redis.Redis.from_url(url, decode_responses=True) as client,
        client.pubsub(ignore_subscribe_messages=True) as pubsub,
    ):
        pubsub.subscribe(CHANNEL)

        def listen() -> None:
            while not stop.is_set():
                if message := pubsub.get_message(timeout=0.2):
                    heard[str(message["data"])] = time.perf_counter()

        def commit(number: int) -> float:
            committed = _commit(server, number)
            client.publish(CHANNEL, str(number))
            return committed

        return _measure_delays(commit, heard, listen, stop)


def _commit(server: Postgres, number: int) -> float:
    with psycopg.connect(server.url) as connection:
        connection.execute("INSERT INTO told (words) VALUES (repeat('x', 400))")
        connection.execute("SELECT pg_notify(%s, %s)", [CHANNEL, str(number)])
        began = time.perf_counter()
        connection.commit()
        return began


def _measure_delays(
    commit: Callable[[int], float], heard: dict[str, float], listen: Callable[[], None], stop: threading.Event
) -> list[float]:
    thread = threading.Thread(target=listen)
    thread.start()
    time.sleep(0.5)
    committed = {str(number): commit(number) for number in range(TOLD)}
    time.sleep(1.0)
    stop.set()
    thread.join()
    return sorted((heard[name] - at) * 1000 for name, at in committed.items() if name in heard)


@contextmanager
def run_servers() -> Iterator[tuple[Postgres, Valkey]]:
    """Run a server that waits for its disk, and a broker."""
    home = own_folder()
    server, broker = Postgres(home), Valkey(home, throwaway=True)
    server.start()
    broker.start()
    try:
        with psycopg.connect(server.url, autocommit=True) as owner:
            owner.execute("CREATE TABLE told (id bigserial PRIMARY KEY, words text)")
            owner.execute(f"CREATE ROLE {PREFIX}_login LOGIN SUPERUSER")
        yield server, broker
    finally:
        broker.stop()
        server.stop()
        shutil.rmtree(home, ignore_errors=True)


def _format_waits(waits: Sequence[float]) -> str:
    if not waits:
        return "nothing is heard"
    return (
        f"{statistics.median(waits):.1f} and {waits[int(len(waits) * 0.99) - 1]:.1f} ms, {len(waits)} of {TOLD} heard"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    argparse.ArgumentParser(prog="python -m benchmarks.notify_or_broker", description=__doc__).parse_args(arguments)
    table = Table("what", "figure", title="Telling of a commit")
    with run_servers() as (server, broker):
        ways: dict[str, tuple[str, Callable[[], Publisher]]] = {
            "nobody is told": ("", lambda: lambda: None),
            "pg_notify in the commit": (f"SELECT pg_notify('{CHANNEL}', '1')", lambda: lambda: None),
            "a query more, and nobody told": ("SELECT 1", lambda: lambda: None),
            "published behind the commit": ("", lambda: _publisher(broker.client_url)),
        }
        best = dict.fromkeys(ways, 0.0)
        for _ in range(ROUNDS):
            for name, way in ways.items():
                best[name] = max(best[name], rate(server, *way))
        for name, each in best.items():
            table.add_row(f"{WRITERS} writers, commits a second: {name}", f"{each:,.0f}")
        table.add_row("heard by LISTEN, p50 and p99", _format_waits(database_delays(server.url, server)))
        table.add_row("heard by the broker, p50 and p99", _format_waits(broker_delays(broker.client_url, server)))
        try:
            with running_pgbouncer(server.url.partition("?host=")[2].replace("%2F", "/")) as folder:
                address = f"postgresql://{PREFIX}_login@/postgres?host={folder}&port={SOCKET.rpartition('.')[2]}"
                table.add_row("heard by LISTEN over pgbouncer", _format_waits(database_delays(address, server)))
        except CannotStart as missing:
            table.add_row("heard by LISTEN over pgbouncer", str(missing))
    Console(width=120).print(table)
    return 0


def _publisher(url: str) -> Publisher:
    client = redis.Redis.from_url(url)
    return lambda: client.publish(CHANNEL, "1")


if __name__ == "__main__":
    sys.exit(main())
