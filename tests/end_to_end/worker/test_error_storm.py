"""A storm of refusals over real HTTP: few calls, none while the breaker is open, all answered afterwards, no thread left behind."""

import json
import threading
from urllib.request import Request, urlopen

import psycopg
import pytest

from apps.governance.database.actor_transaction import acting_as
from apps.launcher.child_processes import wait_until
from apps.launcher.postgres import Postgres
from apps.llm.anthropic.async_client import async_backend_at
from apps.runtime.limits.circuit_breaker import CALLS_TO_JUDGE
from apps.runtime.models import CircuitBreaker, Turn
from apps.runtime.worker.engine import Engine, EngineLimits
from apps.standin.thread_server import run_standin_thread
from tests.support.timeouts import PATIENCE_SECONDS
from tests.support.worlds.world import World, make_event, make_persona, make_world

pytestmark = [pytest.mark.slow, pytest.mark.unmeasured]

CUSTOMERS = 30


def set_faults(url: str, share: float) -> None:
    body = json.dumps({"rates": {"overloaded": share} if share else {}, "seed": 1}).encode()
    urlopen(Request(f"{url}/standin/faults", data=body, method="POST")).close()  # noqa: S310  # loopback


def count_requests(url: str) -> int:
    with urlopen(f"{url}/standin/requests") as shown:  # noqa: S310  # loopback
        return len(json.loads(shown.read()))


def state(world: World) -> str:
    with acting_as(world.system):
        row = CircuitBreaker.objects.first()
        return row.state if row else ""


def all_done(world: World) -> bool:
    with acting_as(world.system):
        return Turn.objects.filter(status=Turn.Status.DONE).count() == CUSTOMERS


def test_a_storm_is_waited_out(postgres: Postgres, database: str) -> None:  # R131
    world = make_world()
    make_persona(world)
    for at in range(CUSTOMERS):
        make_event(world, conversation_key=f"t-{at}", idempotency_key=f"{at}")
    threads = threading.active_count()
    limits = EngineLimits(in_flight=50, threads=4, poll_seconds=0.3, lease_seconds=30)
    with (
        run_standin_thread() as url,
        psycopg.connect(postgres.url_for("postgres", database=database), autocommit=True) as raw,
    ):
        set_faults(url, 1)
        engine = Engine(lambda: async_backend_at("stand-in", url, connections=50), limits)
        engine.start()
        try:
            assert wait_until(lambda: state(world) == "open", PATIENCE_SECONDS, 0.1)
            # Calls that were under way come in; then nobody asks.
            assert wait_until(lambda: is_quiet(url), PATIENCE_SECONDS, 1.0)
            assert CALLS_TO_JUDGE <= count_requests(url) <= 2 * CUSTOMERS
            set_faults(url, 0)
            raw.execute("UPDATE runtime_circuitbreaker SET opened_until = now()")
            assert wait_until(lambda: make_turns_due(raw) and all_done(world), PATIENCE_SECONDS, 0.5)
        finally:
            engine.stop(drain_seconds=2)
    assert state(world) == "closed"
    assert wait_until(lambda: threading.active_count() <= threads + 1, PATIENCE_SECONDS, 0.2)


def make_turns_due(raw: "psycopg.Connection[tuple[object, ...]]") -> bool:
    """Nobody has to wait in this test."""
    raw.execute("UPDATE runtime_turn SET run_at = now() WHERE status = 'running' AND run_at > now()")
    return True


def is_quiet(url: str, seen: list[int] | None = None) -> bool:
    """Whether nothing was asked since the last look."""
    seen = REQUEST_COUNTS if seen is None else seen
    seen.append(count_requests(url))
    return len(seen) > 1 and seen[-1] == seen[-2]


REQUEST_COUNTS: list[int] = []
