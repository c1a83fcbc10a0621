"""Live servers for whole stories: a committing database, a broker, the stand-in model, and the product's own processes."""

import json
import os
import shutil
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
import pytest
import redis
from django.conf import settings
from pytest_django import DjangoDbBlocker

from apps.launcher.children import last_lines, spawn, stop, wait_until
from apps.launcher.places import PROJECT
from apps.launcher.postgres import Postgres
from apps.launcher.processes import HOST, answers, free_port, log_says, python
from apps.launcher.valkey import Valkey
from apps.standin.thread_server import running_standin
from tests.databases import clone_database, close_connections, point_to
from tests.folders import own_folder
from tests.patience import PATIENCE_SECONDS
from tests.settings import PREFIX

_numbers = count(1)
READY_SECONDS = PATIENCE_SECONDS
SWEEP_SECONDS = 1


@dataclass
class House:
    """The product as it runs: its addresses, its environment, and the processes a test may kill."""

    env: dict[str, str]
    logs: Path
    standin_url: str
    broker: redis.Redis
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    starting: dict[str, Callable[[Path], bool]] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return self.env["CONSOLE_URL"]

    def start(self, name: str, command: Sequence[str], is_ready: Callable[[Path], bool]) -> None:
        """Start a process; several start side by side."""
        log = self.logs / f"{name}.log"
        with log.open("wb") as handle:
            child = spawn(command, when_orphaned=signal.SIGKILL, cwd=PROJECT, env=self.env, log=handle)
        self.running[name] = child
        self.starting[name] = is_ready

    def await_ready(self) -> None:
        """Return when everything that was started is ready."""
        for name, is_ready in self.starting.items():
            log, child = self.logs / f"{name}.log", self.running[name]
            wait_until(lambda: is_ready(log) or child.poll() is not None, READY_SECONDS, 0.1)  # noqa: B023  # called here
            assert is_ready(log), f"{name} did not start:\n{last_lines(log)}"
        self.starting.clear()

    def start_web(self) -> None:
        listening = ("--host", HOST, "--port", self.url.rpartition(":")[2], "--lifespan", "on")
        protocols = ("--http", "h11", "--ws", "none")
        command = python("-m", "uvicorn", "config.asgi:application", *listening, *protocols)
        self.start("web", command, answers(f"{self.url}/healthz"))

    def start_worker(self) -> None:
        pool = ("-P", "threads", "-c", "4", "--without-gossip", "--without-mingle", "-n", f"w{next(_numbers)}@%h")
        self.start("worker", python("-m", "celery", "-A", "config", "worker", "-l", "INFO", *pool), log_says(" ready."))

    def start_beat(self) -> None:
        schedule = ("--schedule", str(self.logs / "beat"), "--pidfile=")
        command = python("-m", "celery", "-A", "config", "beat", "-l", "INFO", *schedule)
        self.start("beat", command, log_says("Starting"))

    def kill(self, name: str) -> None:
        """End a process as a power cut would."""
        child = self.running.pop(name)
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()

    def end(self, name: str) -> None:
        """Ask a process to stop, and wait until it has."""
        stop(self.running.pop(name), signal.SIGTERM, READY_SECONDS)

    def run(self, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
        """Run a command of the product in this house."""
        command = [sys.executable, *words]
        return subprocess.run(
            command,
            cwd=PROJECT,
            env=self.env | env,
            capture_output=True,
            text=True,
            check=False,
            timeout=5 * PATIENCE_SECONDS,
        )

    def stop(self) -> None:
        for child in reversed(self.running.values()):
            stop(child, signal.SIGTERM, 10)
        self.running.clear()


@pytest.fixture
def database(
    postgres: Postgres, template_database: str, django_db_setup: str, django_db_blocker: DjangoDbBlocker
) -> Iterator[str]:
    """A database other processes see: what is written to it stays written until the test is over."""
    with flow_database(postgres, template_database, django_db_blocker) as name:
        yield name


@pytest.fixture
def house(database: str, postgres: Postgres) -> Iterator[House]:
    """Everything but the processes, which a test starts as it needs them."""
    with standing_house(database, postgres) as house:
        yield house


@pytest.fixture(scope="module")
def open_house(
    postgres: Postgres, template_database: str, django_db_setup: str, django_db_blocker: DjangoDbBlocker
) -> Iterator[House]:
    """One house for all tests of a file, its web process running; each brings a tenant of its own."""
    with (
        flow_database(postgres, template_database, django_db_blocker) as database,
        standing_house(database, postgres) as house,
    ):
        house.start_web()
        house.await_ready()
        yield house


@contextmanager
def flow_database(postgres: Postgres, template_database: str, django_db_blocker: DjangoDbBlocker) -> Iterator[str]:
    name = f"{PREFIX}_flow_{next(_numbers)}"
    clone_database(postgres, template_database, name)
    with django_db_blocker.unblock():
        yield name
        close_connections()
    with psycopg.connect(postgres.url, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
    point_to(postgres, PREFIX)


@contextmanager
def standing_house(database: str, postgres: Postgres) -> Iterator[House]:
    home = own_folder()
    valkey = Valkey(home, throwaway=True)
    valkey.start()
    with running_standin() as standin_url, redis.Redis.from_url(valkey.client_url) as broker:
        house = House(_environment(home, database, postgres, valkey, standin_url), home, standin_url, broker)
        yield house
        house.stop()
    valkey.stop()
    shutil.rmtree(home, ignore_errors=True)


@pytest.fixture
def seeded(house: House) -> dict[str, Any]:
    """The demo's tenant in the house, and its processes running, checked as an installation's are."""
    del house.env["CELERY_SKIP_CHECKS"]
    house.start_web()
    house.start_worker()
    house.start_beat()
    seed = house.run("manage.py", "seed_demo", "--json")
    assert seed.returncode == 0, seed.stderr
    house.await_ready()
    made: dict[str, Any] = json.loads(seed.stdout.splitlines()[-1])
    return made


def _environment(home: Path, database: str, postgres: Postgres, valkey: Valkey, standin_url: str) -> dict[str, str]:
    # Whole servers at work are not measured: what they run, tests of their parts reach.
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")}
    return inherited | {
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "DATABASE_URL": postgres.url_for(f"{PREFIX}_login", database=database),
        "DATABASE_OWNER_URL": postgres.url_for("postgres", database=database),
        "DATABASE_ROLE_PREFIX": PREFIX,
        "REDIS_URL": valkey.url,
        "ANTHROPIC_BASE_URL": standin_url,
        "ANTHROPIC_API_KEY": "stand-in",
        "CONSOLE_URL": f"http://{HOST}:{free_port(0)}",
        "PRECEPTOR_HOME": str(home),
        "SECRET_KEY": settings.SECRET_KEY,
        "SWEEP_INTERVAL_SECONDS": str(SWEEP_SECONDS),
        "TURN_LEASE_SECONDS": "3",
        # A worker imports the whole console to check it, which the checks of the demo's processes do already.
        "CELERY_SKIP_CHECKS": "1",
        "PYTHONUNBUFFERED": "1",
        "NO_PROXY": f"{HOST},localhost",
    }


def fetched(url: str, body: bytes | None = None) -> bytes:
    """What an address of ours answers."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(urllib.request.Request(url, body), timeout=PATIENCE_SECONDS) as answer:  # noqa: S310  # our own loopback server
        return bytes(answer.read())
