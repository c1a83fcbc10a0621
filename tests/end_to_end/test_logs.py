"""What the processes log while a customer is answered: whose request it was and which turn, and not a word of anybody's."""

import json
import urllib.request
from typing import Any

import pytest

from apps.demo.http_client import HttpVisitor
from apps.launcher.child_processes import wait_until
from apps.launcher.supervisor import HOST, free_port
from apps.runtime.health.beat_monitor import beat_entries
from tests.support.servers.running_product import RunningProduct, fetch
from tests.support.worlds.world import make_persona, make_world

pytestmark = [pytest.mark.slow, pytest.mark.unmeasured]

SENTINEL = "xyzzy-4711-plugh"
REQUEST_ID = "order-77"
FINISHED_SECONDS = 90


def lines_of(product: RunningProduct, name: str) -> list[dict[str, Any]]:
    """Every line of a process that is JSON; all but what the interpreter itself says."""
    lines = (product.logs / f"{name}.log").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines if line.startswith("{")]


def readiness(product: RunningProduct) -> dict[str, Any]:
    return dict(json.loads(fetch(f"{product.url}/readyz")))


def has_periodic_run() -> bool:
    """Whether the beat woke a worker, as the database remembers it."""
    return any(alarm.last_run_at for alarm in beat_entries())


def test_a_conversation_leaves_ids_in_the_logs_and_no_word(own_product: RunningProduct) -> None:
    world = make_world()
    make_persona(world)
    own_product.env |= {"METRICS_LISTEN": f"{HOST}:{free_port(0)}", "METRICS_TOKEN": "scraper"}
    own_product.start_web()
    own_product.start_worker()
    own_product.await_ready()
    visitor = HttpVisitor(own_product.url, world.token)
    body = {"conversation_key": "a", "end_user_key": "http:abc", "text": f"My code is {SENTINEL}."}
    taken = visitor.send("POST", "/api/v1/messages/", body, Idempotency_Key="a", X_Request_ID=REQUEST_ID)
    assert taken.status == 202, taken.text
    thread = int(taken.json["conversation_id"])
    address = f"/api/v1/messages/?conversation_id={thread}"

    def is_answered() -> bool:
        return any(each["sender"] == "agent" for each in visitor.send("GET", address, None).json["results"])

    assert wait_until(is_answered, FINISHED_SECONDS, 0.5)
    visitor.send("GET", f"/api/v1/skills/?search={SENTINEL}", None)
    visitor.send("GET", f"/nowhere/{SENTINEL}/", None)
    [asked] = [
        line for line in lines_of(own_product, "web") if line.get("request_id") == REQUEST_ID and "route" in line
    ]
    assert (asked["method"], asked["status"], asked["actor"]) == ("POST", 202, "agent")
    assert asked["tenant_id"] == world.tenant.pk
    scraped = urllib.request.Request(
        f"http://{own_product.env['METRICS_LISTEN']}/metrics", headers={"Authorization": "Bearer scraper"}
    )
    with urllib.request.urlopen(scraped, timeout=5) as answer:  # noqa: S310  # our own loopback server
        metrics = answer.read().decode()
    assert 'preceptor_turns_total{outcome="replied"} 1.0' in metrics
    assert 'preceptor_model_calls_total{result="ok"}' in metrics
    assert readiness(own_product)["parts"]["beat"].endswith("alarms are overdue")
    own_product.start_beat()
    own_product.await_ready()
    assert wait_until(lambda: readiness(own_product)["status"] == "ready", FINISHED_SECONDS, 0.5), readiness(
        own_product
    )
    assert wait_until(has_periodic_run, FINISHED_SECONDS, 0.5), beat_entries()
    own_product.end("web")
    own_product.end("worker")
    [left] = [line for line in lines_of(own_product, "worker") if line["message"] == "turn ended on this worker"]
    assert (left["tenant_id"], left["conversation_id"], left["actor"]) == (world.tenant.pk, thread, "agent")
    assert left["turn_id"] > 0
    for name in ("web", "worker"):
        assert SENTINEL not in (own_product.logs / f"{name}.log").read_text(encoding="utf-8"), name
