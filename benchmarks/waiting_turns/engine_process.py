"""`python -m benchmarks.waiting_turns.engine_process TURNS`: one process that waits for so many models at once.

`benchmarks.waiting_turns.__main__` starts it and has put the messages into the database that the environment names.
Afterwards the same requests are sent by a bare loop over the same client. It prints one line of JSON.
"""

import asyncio
import json
import os
import sys
import threading
from pathlib import Path
from time import perf_counter

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
django.setup()

from django.conf import settings  # noqa: E402  # settings stand before the engine

from apps.llm.anthropic.async_client import async_backend_at  # noqa: E402
from apps.llm.model_backend import AsyncBackend, Listener, ModelReply, ModelRequest  # noqa: E402
from apps.runtime.worker.engine import Engine, EngineLimits  # noqa: E402
from apps.runtime.worker.garbage_collection import freeze_loaded_objects  # noqa: E402

DRAIN_SECONDS = 300
# A loop between two others would profit from what the first has warmed.
BARE_ROUNDS = 2


class CallGate:
    """Releases calls together once all turns have been taken, and measures the time until the last is back."""

    def __init__(self, turns: int) -> None:
        self.requests: list[ModelRequest] = []
        self.seconds = 0.0
        self.waiting_kb = 0
        self.all_back = threading.Event()
        self._turns = turns
        self._back = 0
        self._opened_at = 0.0
        self._backend = _gated_backend(turns)
        self._open = asyncio.Event()

    async def complete(self, request: ModelRequest, listener: Listener | None = None) -> ModelReply:
        """Complete the request as the client does, once all calls are there."""
        self.requests.append(request)
        if len(self.requests) == self._turns:
            self._opened_at = perf_counter()
            self._open.set()
        await self._open.wait()
        reply = await self._backend.complete(request, listener)
        self._back += 1
        if self._back == 1:
            self.waiting_kb = memory_kb("VmRSS")
        if self._back == self._turns:
            self.seconds = perf_counter() - self._opened_at
            self.all_back.set()
        return reply

    async def aclose(self) -> None:
        """Close every connection."""
        await self._backend.aclose()


def memory_kb(what: str) -> int:
    """Return what the kernel reports of this process in kB: VmRSS now, VmHWM at most so far."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{what}:"))


def _gated_backend(connections: int) -> AsyncBackend:
    return async_backend_at(settings.ANTHROPIC_API_KEY, settings.ANTHROPIC_BASE_URL, connections=connections)


async def bare_seconds(requests: list[ModelRequest]) -> float:
    """Return the seconds of the same calls in a loop that does nothing else."""
    backend = _gated_backend(len(requests))
    begun = perf_counter()
    await asyncio.gather(*map(backend.complete, requests))
    seconds = perf_counter() - begun
    await backend.aclose()
    return seconds


def main() -> int:
    turns = int(sys.argv[1])
    gates: list[CallGate] = []
    # The engine makes its client in its own loop, for the first turn that needs one.
    is_made = threading.Event()

    def gate() -> CallGate:
        gates.append(CallGate(turns))
        is_made.set()
        return gates[0]

    limits = EngineLimits(
        turns, settings.TURN_DATABASE_THREADS, settings.SWEEP_INTERVAL_SECONDS, settings.TURN_LEASE_SECONDS
    )
    freeze_loaded_objects()
    idle_kb, begun = memory_kb("VmRSS"), perf_counter()
    engine = Engine(gate, limits)
    engine.start()
    is_made.wait()
    gates[0].all_back.wait()
    engine.stop(DRAIN_SECONDS)
    figures = {
        "engine_seconds": gates[0].seconds,
        "whole_seconds": perf_counter() - begun,
        "idle_kb": idle_kb,
        "waiting_kb": gates[0].waiting_kb,
        "peak_kb": memory_kb("VmHWM"),
    }
    figures["bare_seconds"] = min(asyncio.run(bare_seconds(gates[0].requests)) for _ in range(BARE_ROUNDS))
    print(json.dumps(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())
