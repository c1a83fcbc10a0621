"""A worker holds on to a turn for as long as its model thinks, however short a lease is."""

import time

import pytest
from pytest_django import Settings

from apps.governance.database.actor_transaction import acting_as
from apps.launcher.child_processes import wait_until
from apps.llm.anthropic.async_client import async_backend_at
from apps.runtime.models import Turn
from apps.runtime.worker.engine import Engine, EngineLimits
from apps.standin.thread_server import run_standin_thread
from tests.end_to_end.worker.test_engine_fairness import count_requests, slow_down, turn_of
from tests.support.timeouts import PATIENCE_SECONDS
from tests.support.worlds.world import make_event, make_persona, make_world

pytestmark = [pytest.mark.slow, pytest.mark.unmeasured]

LEASE_SECONDS = 5
LIMITS = EngineLimits(in_flight=5, threads=2, poll_seconds=0.3, lease_seconds=LEASE_SECONDS)


def test_a_call_that_takes_longer_than_a_lease_is_made_once_beside_another_worker(
    database: str, settings: Settings
) -> None:
    # R126
    settings.TURN_LEASE_SECONDS = LEASE_SECONDS
    world = make_world()
    make_persona(world)
    event = make_event(world, idempotency_key="1")
    with run_standin_thread() as url:
        slow_down(url, PATIENCE_SECONDS)
        workers = [Engine(lambda: async_backend_at("stand-in", url, connections=5), LIMITS) for _ in range(2)]
        for worker in workers:
            worker.start()
        try:
            assert wait_until(lambda: count_requests(url) == 1, PATIENCE_SECONDS, 0.1)
            # Without a heartbeat the other one would have it by now.
            time.sleep(2 * LEASE_SECONDS)
            assert count_requests(url) == 1
            slow_down(url, 0)
            assert wait_until(lambda: turn_of(world, event) is not None, PATIENCE_SECONDS, 0.1)
        finally:
            for worker in workers:
                worker.stop(drain_seconds=2)
    with acting_as(world.system):
        turn = Turn.objects.get()
    assert (turn.fence, turn.attempts, turn.crashes) == (1, 1, 0)
