"""Set-up of the chaos: a database, a broker and a model of this run's own, and workers as an installation runs them."""

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from ipaddress import ip_network
from itertools import count
from pathlib import Path
from urllib.request import Request, urlopen

from django.conf import settings

from apps.launcher.child_processes import spawn_child, stop_child
from apps.launcher.data_folders import PROJECT
from apps.launcher.postgres import Postgres
from apps.launcher.supervisor import HOST, python_command
from apps.launcher.valkey import Valkey
from benchmarks.turn.benchmark_setup import standin_process
from config.celery import app
from tests.settings import PREFIX
from tests.support.database.clones import clone_database, close_connections
from tests.support.database.migrated_cluster import TEMPLATE, ReadyPostgres
from tests.support.servers.effects_server import run_effects_server
from tests.support.servers.tool_server import ToolServerProcess, running_tool_server
from tests.support.temp_folders import own_folder

LEASE_SECONDS = 2
POLL_SECONDS = 0.2
STOP_SECONDS = 20
LOOPBACK = "127.0.0.0/8"
# The clock of each new worker in turn: right, ahead, behind.
WRONG_CLOCKS = (0, 600, -600)

_numbers = count(1)


@dataclass
class WorkerProcess:
    """A worker process, the error of its clock, and whether it is suspended."""

    child: subprocess.Popen[bytes]
    ahead_seconds: int
    log: Path
    is_paused: bool = False

    @property
    def is_up(self) -> bool:
        """Whether it has begun to take turns."""
        return "turn engine started" in self.log.read_text(errors="replace")

    def send(self, what: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.child.pid, what)


@dataclass
class ChaosTestbed:
    """The parts of the product, the outside servers, and the workers by their places."""

    home: Path
    server: Postgres
    broker: Valkey
    standin_url: str
    tools: ToolServerProcess
    counter: str
    workers: dict[int, WorkerProcess] = field(default_factory=dict)

    def start_worker(self, place: int, **settings_of_worker: str) -> None:
        """Start a worker with the clock of the one that was there before."""
        ahead, number = WRONG_CLOCKS[place % len(WRONG_CLOCKS)], next(_numbers)
        pool = ("-P", "threads", "-c", "4", "--without-gossip", "--without-mingle", "-n", f"chaos{number}@%h")
        command = python_command(
            "-m", "benchmarks.chaos.skewed_clock_worker", str(ahead), "-A", "config", "worker", "-l", "INFO", *pool
        )
        log = self.home / "log" / f"worker-{number}.log"
        with log.open("wb") as handle:
            env = self.environment | settings_of_worker
            child = spawn_child(command, when_orphaned=signal.SIGKILL, cwd=PROJECT, env=env, log=handle)
        self.workers[place] = WorkerProcess(child, ahead, log)

    def stop_workers(self) -> None:
        """Stop the workers gracefully, as a release does."""
        for worker in self.workers.values():
            worker.send(signal.SIGTERM)
        for worker in self.workers.values():
            stop_child(worker.child, signal.SIGTERM, STOP_SECONDS)

    def tell_model(self, method: str, path: str, **body: object) -> dict[str, object]:
        """Send a command to the stand-in model, or read its counts."""
        data = json.dumps(body).encode() if body else None
        request = Request(f"{self.standin_url}/standin/{path}", data=data, method=method)  # noqa: S310  # loopback
        with urlopen(request) as answer:  # noqa: S310  # loopback
            result: dict[str, object] = json.load(answer)
        return result

    @property
    def environment(self) -> dict[str, str]:
        """Return the environment of the product's processes."""
        return dict(os.environ) | {
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "DATABASE_URL": self.server.url_for(f"{PREFIX}_login", database=PREFIX),
            "DATABASE_OWNER_URL": "",
            "DATABASE_ROLE_PREFIX": PREFIX,
            "REDIS_URL": self.broker.url,
            "ANTHROPIC_BASE_URL": self.standin_url,
            "ANTHROPIC_API_KEY": "stand-in",
            "PRECEPTOR_HOME": str(self.home),
            "SECRET_KEY": settings.SECRET_KEY,
            "SWEEP_INTERVAL_SECONDS": str(POLL_SECONDS),
            "TURN_LEASE_SECONDS": str(LEASE_SECONDS),
            "TURN_DRAIN_SECONDS": "5",
            "REACHABLE_NETWORKS": LOOPBACK,
            # Simulated customers write faster than people can.
            "LOOP_TURNS": "0",
            "PYTHONUNBUFFERED": "1",
            "NO_PROXY": f"{HOST},localhost",
        }


@contextmanager
def ground() -> Iterator[ChaosTestbed]:
    """Run the database, the model and the outside servers; the broker and the workers are started by their users."""
    home = own_folder()
    # Not a throwaway: commits must survive when it is killed.
    server, broker = ReadyPostgres(home), Valkey(home, throwaway=True)
    app.conf.update(broker_url=broker.url)
    settings.REACHABLE_NETWORKS = (ip_network(LOOPBACK),)
    server.start()
    try:
        _make_database(server)
        with standin_process(home) as standin_url, running_tool_server() as tools, run_effects_server(home) as counter:
            stands = ChaosTestbed(home, server, broker, standin_url, tools, counter)
            stands.tell_model("POST", "keeping", requests=False)
            try:
                yield stands
            finally:
                stands.stop_workers()
                broker.stop()
    finally:
        close_connections()
        server.stop()
        shutil.rmtree(home, ignore_errors=True)


def _make_database(server: Postgres) -> None:
    clone_database(server, TEMPLATE, PREFIX)
    settings.DATABASE_OWNER_URL = server.url_for("postgres", database=PREFIX)
