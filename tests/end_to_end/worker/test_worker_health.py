"""Whether workers answer, asked of real ones through a real broker."""

import json
from typing import Any

import pytest
from celery import Celery
from django.conf import settings

from apps.launcher.child_processes import wait_until
from tests.end_to_end.worker.test_engine_fairness import slow_down
from tests.support.servers.running_product import RunningProduct
from tests.support.timeouts import PATIENCE_SECONDS
from tests.support.worlds.world import World, make_event, make_persona, make_world

pytestmark = [pytest.mark.slow, pytest.mark.unmeasured]
PING_SCRIPT = "from apps.runtime.health.worker_ping import ping_workers; print(ping_workers())"
# The same broker, another of its databases: no worker listens there.
OTHER_VIRTUAL_HOST = "?virtual_host=1"


def ping_worker(product: RunningProduct, broker: str) -> str:
    """What a process with this broker makes of it; it needs nothing else of the product."""
    result = product.run("-c", PING_SCRIPT, REDIS_URL=broker)
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()


def inspect_worker(product: RunningProduct, command: str) -> tuple[str, Any]:  # Any: whatever the command answers
    """The name of the one worker, and what it answers to a command of Celery's inspection."""
    asking = Celery("asking", broker=product.env["REDIS_URL"], set_as_current=False)
    answers = asking.control.broadcast(command, reply=True, limit=1, timeout=PATIENCE_SECONDS)
    asking.close()
    [[(name, answer)]] = [each.items() for each in answers or ()]
    return name, answer


def inspect_by_command(product: RunningProduct, command: str) -> Any:  # Any: JSON of the command
    """The same as an operator asks it, at a terminal; to wait for one worker alone ends with its answer."""
    name, _ = inspect_worker(product, "ping")
    ran = product.run("-m", "celery", "-A", "config", "inspect", command, "--json", "--timeout", "10", "-d", name)
    assert ran.returncode == 0, ran.stderr
    [answer] = json.loads(ran.stdout).values()
    return answer


def test_each_worker_answers_once_shows_its_turns_and_a_broker_that_is_away_is_named(product: RunningProduct) -> None:
    broker = product.env["REDIS_URL"]
    assert ping_worker(product, broker + OTHER_VIRTUAL_HOST) == "WorkerPing(workers=0, problem='')"
    assert ping_worker(product, broker) == "WorkerPing(workers=1, problem='')"
    expect_turn_in_sight(product, make_world())
    nowhere = ping_worker(product, broker.replace("valkey.sock", "nowhere.sock"))
    assert nowhere.startswith("WorkerPing(workers=0, problem='")
    assert "nowhere.sock" in nowhere or "Error" in nowhere


def expect_turn_in_sight(product: RunningProduct, world: World) -> None:
    """A turn that waits for its model is counted in `stats` and listed by `turns`, with ids and no word of it."""
    assert inspect_worker(product, "turns")[1] == []
    make_persona(world)
    slow_down(product.standin_url, PATIENCE_SECONDS)
    event = make_event(world, text="Where is my parcel?")
    assert wait_until(lambda: inspect_worker(product, "turns")[1] != [], PATIENCE_SECONDS)
    [turn] = inspect_by_command(product, "turns")
    seconds, turn_id = turn.pop("seconds"), turn.pop("turn_id")
    assert turn == {
        "tenant_id": world.tenant.pk,
        "conversation_id": event.conversation_id,
        "waits_for_model": True,
    }
    assert turn_id > 0
    seen = inspect_worker(product, "stats")[1]["turns"]
    assert (seen["under_way"], seen["at_most"]) == (1, settings.TURNS_IN_FLIGHT)
    assert seen["oldest_seconds"] >= seconds > 0
    slow_down(product.standin_url, 0)
