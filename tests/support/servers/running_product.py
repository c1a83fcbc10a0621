"""The running product for stories: its own processes on a database of their own, a broker, and the stand-in model."""

import os
import shutil
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import redis
from django.conf import settings

from apps.launcher.child_processes import last_lines, spawn_child, stop_child, wait_until
from apps.launcher.data_folders import PROJECT
from apps.launcher.postgres import Postgres
from apps.launcher.supervisor import HOST, answers_http, free_port, log_contains, python_command
from apps.launcher.valkey import Valkey
from apps.llm.anthropic.sync_client import AnthropicBackend
from apps.standin.thread_server import run_standin_thread
from tests.settings import PREFIX
from tests.support.servers.standin_model import StandIn
from tests.support.temp_folders import own_folder
from tests.support.timeouts import PATIENCE_SECONDS

_numbers = count(1)
READY_SECONDS = PATIENCE_SECONDS
SWEEP_SECONDS = 1


@dataclass
class RunningProduct:
    """The product as it runs: its addresses, its environment, and the processes a test may kill."""

    env: dict[str, str]
    logs: Path
    broker: redis.Redis
    standin: StandIn
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    starting: dict[str, Callable[[Path], bool]] = field(default_factory=dict)
    # Words that must be in no log and no broker after the product has stopped.
    unspoken: set[str] = field(default_factory=set)

    @property
    def standin_url(self) -> str:
        return self.standin.url

    @property
    def url(self) -> str:
        return self.env["CONSOLE_URL"]

    def start(self, name: str, command: Sequence[str], is_ready: Callable[[Path], bool], **env: str) -> None:
        """Start a process; several start side by side. An earlier log of that name is kept."""
        log = self.logs / f"{name}.log"
        if log.exists():
            log.rename(self.logs / f"{name}.{next(_numbers)}.log")
        with log.open("wb") as handle:
            child = spawn_child(command, when_orphaned=signal.SIGKILL, cwd=PROJECT, env=self.env | env, log=handle)
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
        command = python_command("-m", "uvicorn", "config.asgi:application", *listening, *protocols)
        self.start("web", command, answers_http(f"{self.url}/healthz"))

    def is_running(self, name: str) -> bool:
        """Whether it was started and has not ended."""
        return name in self.running and self.running[name].poll() is None

    def start_worker(self, *, is_checked: bool = False) -> None:
        pool = ("-P", "threads", "-c", "4", "--without-gossip", "--without-mingle", "-n", f"w{next(_numbers)}@%h")
        command = python_command("-m", "celery", "-A", "config", "worker", "-l", "INFO", *pool)
        self.start("worker", command, log_contains(" ready."), **_check_environment(is_checked))

    def start_beat(self, *, is_checked: bool = False, settings: str = "config.settings") -> None:
        schedule = ("--schedule", str(self.logs / "beat"), "--pidfile=")
        command = python_command("-m", "celery", "-A", "config", "beat", "-l", "INFO", *schedule)
        self.start(
            "beat", command, log_contains("Starting"), DJANGO_SETTINGS_MODULE=settings, **_check_environment(is_checked)
        )

    def kill(self, name: str) -> None:
        """Kill a process, as a power cut would."""
        child = self.running.pop(name)
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()

    def end(self, name: str) -> None:
        """Ask a process to stop, and wait until it has."""
        stop_child(self.running.pop(name), signal.SIGTERM, READY_SECONDS)

    def run(self, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
        """Run a command of the product in this environment."""
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
            stop_child(child, signal.SIGTERM, 10)
        self.running.clear()

    def expect_unspoken(self) -> None:
        """Check that neither a log nor the broker contains the words."""
        logs = {path.name: path.read_bytes() for path in self.logs.rglob("*") if path.is_file()}
        assert "worker.log" in logs, sorted(logs)
        for words in map(str.encode, self.unspoken):
            found = [name for name, text in logs.items() if words in text and "pg" not in name]
            found += [str(key) for key in self.broker.scan_iter() if words in (self.broker.dump(key) or b"")]
            assert found == [], f"{words!r} stands in {found}"


def _check_environment(is_checked: bool) -> dict[str, str]:
    """Return the environment of a worker or beat: checks import the whole console, so only one start runs them."""
    return {} if is_checked else {"CELERY_SKIP_CHECKS": "1"}


@contextmanager
def prepare_product(database: str, postgres: Postgres) -> Iterator[RunningProduct]:
    """Prepare everything except the processes; stop those that were started afterwards."""
    home = own_folder()
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, home, ignore_errors=True)
        valkey = Valkey(home, throwaway=True)
        stack.callback(valkey.stop)
        valkey.start()
        standin_url = stack.enter_context(run_standin_thread())
        broker = stack.enter_context(redis.Redis.from_url(valkey.client_url))
        backend = AnthropicBackend("test", base_url=standin_url)
        stack.callback(backend.close)
        env = _environment(home, database, postgres, valkey, standin_url)
        product = RunningProduct(env=env, logs=home, broker=broker, standin=StandIn(standin_url, backend))
        stack.callback(product.stop)
        yield product


def _environment(home: Path, database: str, postgres: Postgres, valkey: Valkey, standin_url: str) -> dict[str, str]:
    # Whole servers are not traced: tests of their parts cover their lines.
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
        "PYTHONUNBUFFERED": "1",
        "NO_PROXY": f"{HOST},localhost",
    }


def fetch(url: str, body: bytes | None = None) -> bytes:
    """Return the body at a local address."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(urllib.request.Request(url, body), timeout=PATIENCE_SECONDS) as answer:  # noqa: S310  # our own loopback server
        return bytes(answer.read())
