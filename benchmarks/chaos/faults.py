"""Faults of an installation, in an order that a seed decides."""

import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import redis

from apps.launcher.child_processes import last_lines
from benchmarks.chaos.benchmark_setup import LEASE_SECONDS, ChaosTestbed, WorkerProcess

# The shares of model calls that fail, three in ten together.
# A spent account is left out: it pauses its agent until a person resumes it, which nobody does here.
FAULTS = {
    "overloaded": 0.06,
    "rate_limited": 0.03,
    "server_error": 0.04,
    "cut_stream": 0.04,
    "malformed": 0.03,
    "stream_error": 0.03,
    "stall": 0.02,
    "slow_start": 0.02,
    "timeout": 0.02,
}
FAULT_SECONDS = 1.0
# Long enough that calls are always under way.
MODEL_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class FaultPace:
    """The number of turns between two faults, and the seconds without a broker."""

    gap_turns: int
    outage_seconds: float


class FaultInjector:
    """Injects faults one after another, every kind equally often, and schedules their repairs."""

    def __init__(self, ground: ChaosTestbed, pace: FaultPace, seed: int) -> None:
        self.counted: Counter[str] = Counter()
        self._decks = 0
        self._ground, self._pace = ground, pace
        self._random = random.Random(seed)
        self._deck: list[Callable[[], None]] = []
        self._next_at = pace.gap_turns
        self._mending: list[tuple[float, Callable[[], None]]] = []

    @property
    def has_played_all(self) -> bool:
        """Whether each kind has happened."""
        return self._decks > 1 or (self._decks == 1 and not self._deck)

    def tick(self, ended: int) -> None:
        """Inject or repair what is due after so many ended turns."""
        now = time.monotonic()
        due = [mend for at, mend in self._mending if at <= now]
        self._mending = [(at, mend) for at, mend in self._mending if at > now]
        for mend in due:
            mend()
        self._replace_dead_workers()
        if ended >= self._next_at and self._running_workers:
            self._next_fault()()
            self._next_at = ended + round(self._pace.gap_turns * self._random.uniform(0.5, 1.5))

    def heal(self) -> None:
        """Repair everything."""
        for _, mend in self._mending:
            mend()
        self._mending.clear()
        self._replace_dead_workers()

    @property
    def _running_workers(self) -> list[tuple[int, WorkerProcess]]:
        """Return the workers that take turns now, by their places; a worker that still starts has nothing to lose."""
        places = self._ground.workers.items()
        return [(place, worker) for place, worker in places if worker.is_up and not worker.is_paused]

    def _next_fault(self) -> Callable[[], None]:
        if not self._deck:
            kill, pause = self._kill_worker, self._pause_worker
            self._deck = [kill, kill, pause, pause, self._flush_broker, self._stop_broker, self._crash_database]
            self._random.shuffle(self._deck)
            self._decks += 1
        return self._deck.pop()

    def _kill_worker(self) -> None:
        place, worker = self._random.choice(self._running_workers)
        worker.send(signal.SIGKILL)
        worker.child.wait()
        self._ground.start_worker(place)
        self.counted["workers killed"] += 1

    def _pause_worker(self) -> None:
        """Suspend a worker for longer than its lease, so that others take over turns that it still believes to hold."""
        _, worker = self._random.choice(self._running_workers)
        worker.send(signal.SIGSTOP)
        worker.is_paused = True
        self._schedule_repair(2 * LEASE_SECONDS, lambda: self._resume_worker(worker))
        self.counted["workers paused beyond their lease"] += 1

    def _resume_worker(self, worker: WorkerProcess) -> None:
        worker.is_paused = False
        worker.send(signal.SIGCONT)

    def _flush_broker(self) -> None:
        with suppress(redis.ConnectionError), redis.Redis.from_url(self._ground.broker.client_url) as broker:
            broker.flushall()
            self.counted["broker emptied"] += 1

    def _stop_broker(self) -> None:
        if not self._ground.broker.is_ours:
            return
        self._ground.broker.stop()
        self._schedule_repair(self._pace.outage_seconds, self._ground.broker.start)
        self.counted["broker outages"] += 1

    def _crash_database(self) -> None:
        """Restart the database as `pg_ctl -m immediate restart` does: connections break, and the log is replayed."""
        server = self._ground.server
        if server.child:
            server.child.send_signal(signal.SIGQUIT)
            server.child.wait()
        server.start()
        self.counted["database crashes"] += 1

    def _schedule_repair(self, seconds: float, mend: Callable[[], None]) -> None:
        self._mending.append((time.monotonic() + seconds, mend))

    def _replace_dead_workers(self) -> None:
        for place, worker in list(self._ground.workers.items()):
            if worker.child.poll() is not None:
                self.counted["workers that ended by themselves"] += 1
                code, words = worker.child.returncode, last_lines(worker.log)
                print(f"A worker ended by itself with {code}. Its last lines:\n{words}", file=sys.stderr)
                self._ground.start_worker(place)
