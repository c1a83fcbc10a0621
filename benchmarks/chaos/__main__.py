"""Chaos: turns while workers, broker, database, model and clocks fail; afterwards each message has exactly one answer.

`python -m benchmarks.chaos --turns 10000 --workers 3 --seed 1` starts a PostgreSQL, a Valkey, a stand-in model and workers of its
own, lets customers write, and injects faults in an order that the seed decides. It prints a table and fails if an invariant is
broken or a turn is left; `--quick` is a short run of the same.
"""

import argparse
import logging
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
django.setup()

from rich.console import Console  # noqa: E402
from rich.table import Table  # noqa: E402

from benchmarks.chaos.approver import Approver  # noqa: E402
from benchmarks.chaos.benchmark_setup import WRONG_CLOCKS, ChaosTestbed, ground  # noqa: E402
from benchmarks.chaos.customers import SimulatedCustomers, Thread, make_threads  # noqa: E402
from benchmarks.chaos.faults import FAULT_SECONDS, FAULTS, MODEL_SECONDS, FaultInjector, FaultPace  # noqa: E402
from benchmarks.chaos.turn_counts import ResultReader, TurnCounts  # noqa: E402
from tests.support.database.clones import close_connections  # noqa: E402
from tests.support.servers.effects_server import set_fault_share  # noqa: E402

TICK_SECONDS = 0.1
# The share of webhook deliveries that the server refuses, or takes without an answer.
WEBHOOK_FAULTS = 0.3
# Faults that a short run may leave out.
RARE_EVENTS = frozenset({"of which nobody knows"})
# The only failure that may end a turn without an answer here: workers died over it again and again.
ALLOWED_FAILURES = frozenset({"attempts_spent"})


@dataclass(frozen=True, slots=True)
class Size:
    """The number of turns, the most conversations that wait at once, and the seconds for recovery after the last fault."""

    turns: int
    messages_without_broker: int
    workers: int
    crowd: int
    pace: FaultPace
    patience_seconds: float


FULL_SIZE = Size(10_000, 500, 3, 150, FaultPace(60, 10.0), 300)
QUICK = Size(80, 12, 2, 30, FaultPace(6, 1.0), 300)


@dataclass
class ChaosResult:
    """The figures of a run."""

    turns_without_broker: TurnCounts
    turns: TurnCounts
    seconds: float
    customers: SimulatedCustomers
    disasters: Counter[str]
    broken: dict[str, list[str]] = field(default_factory=dict)
    elsewhere: dict[str, int] = field(default_factory=dict)

    @property
    def flaws(self) -> list[str]:
        found = [f"{name}: {', '.join(rows[:5])}" for name, rows in self.broken.items() if rows]
        found += [
            f"{count} turns failed: {code}" for code, count in self.turns.failed.items() if code not in ALLOWED_FAILURES
        ]
        without = self.turns_without_broker
        if without.done < without.begun:
            found.append(f"Without a broker {without.done} of {without.begun} turns were answered.")
        if self.turns.left:
            found.append(f"{self.turns.left} messages were left.")
        if self.turns.unsettled:
            found.append(f"{self.turns.unsettled} deliveries or calls that waited for a person were left.")
        found += [
            f"There were no {name}." for name, count in self.elsewhere.items() if not count and name not in RARE_EVENTS
        ]
        return found


def run_chaos(size: Size, seed: int) -> ChaosResult:
    """Play the whole run, from the first message to the check of the last row."""
    # The benchmark stops the broker itself, so the product's warnings about it are no result.
    logging.getLogger("apps.runtime.wakeup").setLevel(logging.ERROR)
    with ground() as stands:
        threads = make_threads(stands)
        close_connections()
        books = ResultReader(stands)
        books.watch()
        for place in range(size.workers):
            stands.start_worker(place)
        without = _answer_without_broker(books, threads, size, seed)
        stands.broker.start()
        happened = _answer_in_chaos(stands, books, threads, size, seed)
        stands.stop_workers()
        happened.turns_without_broker = without
        happened.broken, happened.elsewhere = books.broken(), books.elsewhere()
        return happened


def _answer_without_broker(books: ResultReader, threads: Sequence[Thread], size: Size, seed: int) -> TurnCounts:
    """Answer messages without a broker: the workers never reach it, and find the due work in the database."""
    customers = SimulatedCustomers(threads, -seed, size.crowd)
    customers.start()
    _wait_until(lambda: customers.messages >= size.messages_without_broker, size.patience_seconds)
    customers.stop()
    _wait_until(lambda: books.look(customers).left == 0, size.patience_seconds)
    return books.look(customers)


def _answer_in_chaos(
    stands: ChaosTestbed, books: ResultReader, threads: Sequence[Thread], size: Size, seed: int
) -> ChaosResult:
    before = books.turns()
    stands.tell_model("POST", "faults", rates=FAULTS, seed=seed, seconds=FAULT_SECONDS)
    stands.tell_model("POST", "delay", seconds=MODEL_SECONDS)
    set_fault_share(stands.counter, WEBHOOK_FAULTS)
    colleague = Approver({thread.world.tenant.pk: thread.world for thread in threads}.values())
    customers, disasters = SimulatedCustomers(threads, seed, size.crowd), FaultInjector(stands, size.pace, seed)
    begun_at = time.monotonic()
    customers.start()
    colleague.start()
    while (seen := books.look(customers)).begun - before.begun < size.turns or not disasters.has_played_all:
        disasters.tick(seen.done - before.done)
        time.sleep(TICK_SECONDS)
    customers.stop()
    disasters.heal()
    stands.tell_model("DELETE", "controls")
    set_fault_share(stands.counter, 0)
    _wait_until(lambda: _is_settled(books.look_ahead(customers)), size.patience_seconds)
    colleague.stop()
    seconds = time.monotonic() - begun_at
    return ChaosResult(before, books.turns(since=before), seconds, customers, disasters.counted)


def _is_settled(turns: TurnCounts) -> bool:
    return turns.left == turns.unsettled == 0


def _wait_until(true: Callable[[], bool], seconds: float) -> None:
    ends = time.monotonic() + seconds
    while not true() and time.monotonic() < ends:
        time.sleep(TICK_SECONDS)


def report(happened: ChaosResult, console: Console) -> None:
    turns, without = happened.turns, happened.turns_without_broker
    table = Table("what", "how much", title="Turns while everything breaks")
    table.add_row("turns begun and answered without a broker", f"{without.begun}, {without.done}")
    table.add_row(
        "messages sent, and sent again under their key", f"{happened.customers.messages}, {happened.customers.repeated}"
    )
    table.add_row("turns begun", f"{turns.begun}")
    table.add_row("turns answered", f"{turns.done}")
    for code, count in turns.failed.items():
        table.add_row(f"turns failed: {code}", f"{count}")
    for name, count in sorted(happened.disasters.items()):
        table.add_row(name, f"{count}")
    for name, count in happened.elsewhere.items():
        table.add_row(name, f"{count}")
    table.add_row("deliveries that were to fail", f"{WEBHOOK_FAULTS:.0%}")
    table.add_row("clocks of the workers, seconds off", ", ".join(map(str, WRONG_CLOCKS)))
    table.add_row("model calls that were to fail", f"{sum(FAULTS.values()):.0%}")
    table.add_row("turns a second", f"{turns.done / happened.seconds:.1f}")
    for name, waits in turns.waits.items():
        table.add_row(f"seconds from due to reply, p50 and p99, {name}", f"{waits.p50:.2f}, {waits.p99:.2f}")
    table.add_section()
    for name, rows in happened.broken.items():
        table.add_row(f"broken: {name}", f"{len(rows)}")
    console.print(table)
    for flaw in happened.flaws:
        console.print(f"BROKEN: {flaw}", markup=False)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.chaos", description=__doc__)
    parser.add_argument("--turns", type=int, help=f"turns before everything heals (default {FULL_SIZE.turns})")
    parser.add_argument("--workers", type=int, help=f"worker processes (default {FULL_SIZE.workers})")
    parser.add_argument("--seed", type=int, default=1, help="of messages, disasters and faults")
    parser.add_argument("--quick", action="store_true", help=f"a short run: {QUICK.turns} turns")
    options = parser.parse_args(arguments)
    size = QUICK if options.quick else FULL_SIZE
    size = replace(size, turns=options.turns or size.turns, workers=options.workers or size.workers)
    happened = run_chaos(size, options.seed)
    report(happened, Console(width=120))
    return 1 if happened.flaws else 0


if __name__ == "__main__":
    sys.exit(main())
