"""A web process under load for minutes: its capacity, and whether its memory stays constant at four fifths of that."""

import asyncio
import os
import signal
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median, quantiles
from urllib.error import URLError
from urllib.request import urlopen

import aiohttp

from apps.launcher.child_processes import spawn_child, stop_child, wait_until
from apps.launcher.data_folders import PROJECT
from benchmarks.api.benchmark_setup import BenchmarkInstallation, close_pools
from tests.settings import PREFIX

CLIENTS, READY_SECONDS, FINDING_SECONDS, SHARE = 8, 60, 10, 0.8
# In the first part of the run Python and the driver load everything that they keep.
SETTLED, GROWTH = 0.25, 1.1
ADDRESSES = ("/api/v1/skills/", "/api/v1/memories/", "/api/v1/conversations/")


@dataclass
class LoadResult:
    """Requests and answers, and the memory of the process meanwhile."""

    capacity: float
    seconds: float
    taken: list[float] = field(default_factory=list)
    refused: int = 0
    memory_kb: list[int] = field(default_factory=list)

    @property
    def growth(self) -> float:
        """The last tenth of the memory samples as a multiple of the first that count."""
        settled = self.memory_kb[int(len(self.memory_kb) * SETTLED) :]
        part = max(1, len(settled) // 10)
        return median(settled[-part:]) / median(settled[:part])

    @property
    def flaws(self) -> list[str]:
        flaws = (
            [f"{self.refused} of {len(self.taken) + self.refused} requests were not answered."] if self.refused else []
        )
        if self.growth > GROWTH:
            flaws.append(f"The web process grew to {self.growth:.2f} times its memory, more than {GROWTH}.")
        return flaws

    @property
    def told(self) -> str:
        cut = quantiles(self.taken, n=100)
        return (
            f"A web process with {CLIENTS} clients answers {self.capacity:.0f} requests a second. At {SHARE:.0%} of it for"
            f" {self.seconds:.0f} s: {len(self.taken)} answered, median {1000 * cut[49]:.1f} ms, p99 {1000 * cut[98]:.1f} ms,"
            f" {max(self.memory_kb) / 1024:.0f} MB at most, {self.growth:.2f} times what it was after the first quarter."
        )


def run_load(installation: BenchmarkInstallation, seconds: float) -> LoadResult:
    """Send requests as fast as possible for a while, then at a steady pace."""
    close_pools()
    with _run_web_server(installation) as (url, process_id):
        return asyncio.run(_run_load_async(url, process_id, installation.token, seconds))


async def _run_load_async(url: str, process_id: int, token: str, seconds: float) -> LoadResult:
    limit = aiohttp.TCPConnector(limit=4 * CLIENTS)
    async with aiohttp.ClientSession(url, headers={"Authorization": f"Bearer {token}"}, connector=limit) as client:
        soaked = LoadResult(await _measure_capacity(client), seconds)
        pace = 1 / (SHARE * soaked.capacity)
        asking: set[asyncio.Task[None]] = set()
        begun = time.monotonic()
        while (since := time.monotonic() - begun) < seconds:
            number = len(soaked.taken) + soaked.refused + len(asking)
            if number * pace > since:
                await asyncio.sleep(number * pace - since)
            if len(soaked.memory_kb) <= since:
                soaked.memory_kb.append(_memory_kb(process_id))
            task = asyncio.create_task(_send_request(client, soaked, number))
            asking.add(task)
            task.add_done_callback(asking.discard)
        await asyncio.gather(*asking)
    return soaked


async def _measure_capacity(client: aiohttp.ClientSession) -> float:
    found = LoadResult(0, 0)
    until = time.monotonic() + FINDING_SECONDS

    async def one_after_the_other(first: int) -> None:
        number = first
        while time.monotonic() < until:
            await _send_request(client, found, number)
            number += 1

    await asyncio.gather(*(one_after_the_other(number) for number in range(CLIENTS)))
    return len(found.taken) / FINDING_SECONDS


async def _send_request(client: aiohttp.ClientSession, soaked: LoadResult, number: int) -> None:
    begun = time.perf_counter()
    try:
        async with client.get(ADDRESSES[number % len(ADDRESSES)]) as answer:
            await answer.read()
            is_answered = answer.status == 200
    except aiohttp.ClientError:
        is_answered = False
    if is_answered:
        soaked.taken.append(time.perf_counter() - begun)
    else:
        soaked.refused += 1


def _memory_kb(process_id: int) -> int:
    lines = Path(f"/proc/{process_id}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:"))


@contextmanager
def _run_web_server(installation: BenchmarkInstallation) -> Iterator[tuple[str, int]]:
    """The web process of an installation, as the launcher starts it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    environment = {
        "DATABASE_URL": installation.server.url_for(f"{PREFIX}_login", database=PREFIX),
        "DATABASE_ROLE_PREFIX": PREFIX,
        "DATABASE_POOL_SIZE": "4",
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "CONSOLE_URL": url,
    }
    command = (sys.executable, "-m", "uvicorn", "config.asgi:application", "--port", str(port), "--lifespan", "on")
    log_path = Path(installation.server.log).with_name("web.log")
    with log_path.open("wb") as log:
        child = spawn_child(
            (*command, "--log-level", "warning"),
            when_orphaned=signal.SIGKILL,
            cwd=PROJECT,
            log=log,
            env=os.environ | environment,
        )
    try:
        if not wait_until(lambda: _is_answering(f"{url}/healthz"), READY_SECONDS):
            raise RuntimeError(f"The web process did not start: {log_path.read_text()[-2000:]}")
        yield url, child.pid
    finally:
        stop_child(child, signal.SIGTERM, 10)


def _is_answering(url: str) -> bool:
    try:
        urlopen(url).close()  # noqa: S310  # loopback
    except (URLError, OSError):
        return False
    return True
