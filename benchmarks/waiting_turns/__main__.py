"""Cost of waiting: 2,000 turns whose models take two seconds in one engine, and ten tenants of which one floods it.

`python -m benchmarks.waiting_turns` starts a PostgreSQL, a broker, a stand-in model and workers of its own and prints a table
beside the goals. It fails if a turn was left, and with `--strict` also if a goal is missed; `--quick` does the same with
small numbers.
"""

import argparse
import json
import logging
import os
import resource
import signal
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
django.setup()

import psycopg  # noqa: E402  # after Django's set-up
from rich.console import Console  # noqa: E402
from rich.table import Table  # noqa: E402

from apps.governance.database.actor_transaction import acting_as  # noqa: E402
from apps.launcher.child_processes import CannotStart, last_lines, spawn_child  # noqa: E402
from apps.launcher.data_folders import PROJECT  # noqa: E402
from apps.launcher.supervisor import python_command  # noqa: E402
from benchmarks.chaos.benchmark_setup import ChaosTestbed, ground  # noqa: E402
from benchmarks.chaos.customers import Thread, send  # noqa: E402
from benchmarks.chaos.turn_counts import waits_of  # noqa: E402
from tests.settings import PREFIX  # noqa: E402
from tests.support.database.clones import close_connections  # noqa: E402
from tests.support.worlds.world import make_persona, make_world  # noqa: E402

RATE, MEGABYTES, FACTOR = 0.9, 256, 2.0
MODEL_SECONDS = 2.0
TENANTS = 10
# The share of one tenant's messages in a flood, in percent.
FLOOD_SHARE = 9
DEADLINE_SECONDS = 900
OPEN_FILES_EACH = 2
OPEN_FILES_BESIDE = 500
PATIENCE_SECONDS = 300
REPLY_WAITS = """
SELECT extract(epoch FROM turn.started_at - min(event.due_at))::float8
  FROM runtime_turn AS turn JOIN conversations_inboundevent AS event ON event.turn_id = turn.id
 WHERE turn.tenant_id <> %s AND turn.id > %s GROUP BY turn.id
"""
UNANSWERED_EVENTS = """
SELECT count(*) FROM conversations_inboundevent AS event LEFT JOIN runtime_turn AS turn ON turn.id = event.turn_id
 WHERE turn.status IS DISTINCT FROM 'done'
"""


@dataclass(frozen=True, slots=True)
class Size:
    """The number of turns that wait at once; slots of the flooded worker; seconds of a flood; messages per second without it."""

    turns: int
    slots: int
    seconds: float
    rate: float


FULL_SIZE = Size(2_000, 100, 60, 3)
QUICK = Size(200, 60, 10, 3)


@dataclass(frozen=True, slots=True)
class FigureRow:
    """A figure and its goal."""

    name: str
    figure: str
    goal: str = ""
    is_missed: bool = False


def measure_model_waits(stands: ChaosTestbed, threads: Sequence[Thread], turns: int) -> list[FigureRow]:
    """Let everybody write and one engine take all the turns, whose models answer together."""
    for world in {thread.world.tenant.pk: thread.world for thread in threads}.values():
        with acting_as(world.bot):
            for number in range(turns // TENANTS):
                send(Thread(world, number), "Where is my parcel?", f"wait-{number}")
    close_connections()
    stands.tell_model("POST", "delay", seconds=MODEL_SECONDS)
    figures = _run_engine(stands, turns)
    _refuse_unanswered(stands)
    ratio, megabytes = figures["bare_seconds"] / figures["engine_seconds"], figures["peak_kb"] / 1024
    return [
        FigureRow("turns that waited at once", f"{turns:,}"),
        FigureRow("calls a second, engine", f"{turns / figures['engine_seconds']:.0f}"),
        FigureRow("calls a second, bare loop over the same client", f"{turns / figures['bare_seconds']:.0f}"),
        FigureRow("engine as a multiple of the bare loop", f"{ratio:.2f}", f"{RATE}", ratio < RATE),
        FigureRow(
            "MB before the first turn, while all wait",
            f"{figures['idle_kb'] / 1024:.0f}, {figures['waiting_kb'] / 1024:.0f}",
        ),
        FigureRow("MB at most", f"{megabytes:.0f}", f"{MEGABYTES}", megabytes > MEGABYTES),
        FigureRow("turns a second from first claim to last reply", f"{turns / figures['whole_seconds']:.0f}"),
    ]


def _run_engine(stands: ChaosTestbed, turns: int) -> dict[str, float]:
    log, printed = stands.home / "log" / "engine.log", stands.home / "log" / "engine.out"
    env = stands.environment | {"TURN_DEADLINE_SECONDS": str(DEADLINE_SECONDS), "TURN_LEASE_SECONDS": "30"}
    with log.open("wb") as complaints, printed.open("wb") as output:
        command = python_command("-m", "benchmarks.waiting_turns.engine_process", str(turns))
        child = spawn_child(
            command, when_orphaned=signal.SIGKILL, cwd=PROJECT, env=env, log=output, complaints=complaints
        )
        if child.wait(DEADLINE_SECONDS) != 0:
            raise CannotStart(f"The engine failed:\n{last_lines(log)}")
    figures: dict[str, float] = json.loads(printed.read_text().splitlines()[-1])
    return figures


def flood(stands: ChaosTestbed, threads: Sequence[Thread], size: Size) -> list[FigureRow]:
    """Let nine tenants write at their pace, without and with a tenth that writes nine times as much as they together."""
    stands.tell_model("POST", "delay", seconds=MODEL_SECONDS / 4)
    stands.broker.start()
    in_flight = str(size.slots)
    stands.start_worker(0, TURNS_IN_FLIGHT=in_flight, TURN_LEASE_SECONDS="30", SWEEP_INTERVAL_SECONDS="5")
    _wait_until(lambda: stands.workers[0].is_up)
    alone = _measure_waits(stands, threads, size, "alone", 0)
    flooded = _measure_waits(stands, threads, size, "flooded", FLOOD_SHARE)
    factor = flooded[1] / alone[1]
    return [
        FigureRow("slots of the worker, tenants", f"{in_flight}, {TENANTS}"),
        FigureRow("seconds from due to claim without the flood, p50 and p99", f"{alone[0]:.3f}, {alone[1]:.3f}"),
        FigureRow("the same with it, of the other tenants", f"{flooded[0]:.3f}, {flooded[1]:.3f}"),
        FigureRow("p99 with the flood as a multiple", f"{factor:.1f}", f"{FACTOR}", factor > FACTOR),
    ]


def _measure_waits(
    stands: ChaosTestbed, threads: Sequence[Thread], size: Size, name: str, share: int
) -> tuple[float, float]:
    """Return the median and the 99th percentile of the waiting times of the others."""
    flooding, *others = threads
    with psycopg.connect(stands.server.url_for("postgres", database=PREFIX), autocommit=True) as raw:
        before = (raw.execute("SELECT coalesce(max(id), 0) FROM runtime_turn").fetchone() or (0,))[0]
        begun = time.monotonic()
        for number in range(round(size.seconds * size.rate)):
            for place in range(share):
                send(Thread(flooding.world, number * FLOOD_SHARE + place), "Where is my parcel?", f"{name}-{place}")
            send(Thread(others[number % len(others)].world, number), "Where is my parcel?", name)
            time.sleep(max(0.0, begun + (number + 1) / size.rate - time.monotonic()))
        _wait_until(lambda: _count_unanswered(raw) == 0)
        waited = [float(seconds) for (seconds,) in raw.execute(REPLY_WAITS, [flooding.world.tenant.pk, before])]
    _refuse_unanswered(stands)
    waits = waits_of(waited)
    return waits.p50, waits.p99


def _count_unanswered(raw: psycopg.Connection[tuple[int]]) -> int:
    row = raw.execute(UNANSWERED_EVENTS).fetchone()
    return row[0] if row else 0


def _refuse_unanswered(stands: ChaosTestbed) -> None:
    with psycopg.connect(stands.server.url_for("postgres", database=PREFIX)) as raw:
        if left := _count_unanswered(raw):
            raise CannotStart(f"{left} messages were not answered; the figures mean nothing.")


def _wait_until(true: Callable[[], bool]) -> None:
    ends = time.monotonic() + PATIENCE_SECONDS
    while not true() and time.monotonic() < ends:
        time.sleep(0.1)


def _raise_open_files(turns: int) -> None:
    """Raise the limit of open files for the engine and the model, which inherit it: a call is a file on each side."""
    wanted = turns * OPEN_FILES_EACH + OPEN_FILES_BESIDE
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < wanted:
        raise CannotStart(f"{turns} calls at once need {wanted} open files, and this account may have {hard}.")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.waiting_turns", description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help=f"{QUICK.turns} turns and {QUICK.seconds} seconds of flood"
    )
    parser.add_argument("--strict", action="store_true", help="fail too where a goal is missed")
    options = parser.parse_args(arguments)
    size = QUICK if options.quick else FULL_SIZE
    logging.getLogger("apps.runtime.wakeup").setLevel(logging.ERROR)
    _raise_open_files(size.turns)
    table = Table("what", "figure", "goal", title="Turns that wait for their model, and for each other")
    with ground() as stands:
        threads = [Thread(make_world(), number) for number in range(TENANTS)]
        for thread in threads:
            make_persona(thread.world)
        rows = measure_model_waits(stands, threads, size.turns) + flood(stands, threads, size)
    for row in rows:
        table.add_row(row.name, row.figure, f"{row.goal} {'missed' if row.is_missed else 'met'}" if row.goal else "")
    Console(width=120).print(table)
    return int(options.strict and any(row.is_missed for row in rows))


if __name__ == "__main__":
    sys.exit(main())
