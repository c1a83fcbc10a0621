"""A worker's engine brings replies to a tenant's own server, over real sockets."""

import json
from ipaddress import ip_network

import pytest
from pytest_django import Settings

from apps.governance.database.actor_transaction import acting_as
from apps.launcher.child_processes import wait_until
from apps.llm.anthropic.async_client import async_backend_at
from apps.runtime.worker.engine import Engine, EngineLimits
from apps.standin.thread_server import run_standin_thread
from apps.webhooks.models import Delivery
from tests.support.servers.webhook_receiver import make_webhook, run_webhook_receiver
from tests.support.timeouts import PATIENCE_SECONDS
from tests.support.worlds.world import World, make_event, make_persona, make_world

pytestmark = [pytest.mark.slow, pytest.mark.unmeasured]

LIMITS = EngineLimits(in_flight=5, threads=2, poll_seconds=0.3, lease_seconds=30)
THREADS = 4


def delivered_count(world: World) -> int:
    with acting_as(world.operator):
        return Delivery.objects.filter(tenant=world.tenant, status="delivered").count()


def test_replies_leave_by_themselves_and_each_conversation_keeps_its_order(database: str, settings: Settings) -> None:
    settings.REACHABLE_NETWORKS = (ip_network("127.0.0.0/8"),)
    world = make_world()
    make_persona(world)
    with run_webhook_receiver() as receiver, run_standin_thread() as url:
        # The first try of all fails, and comes again behind a pause.
        receiver.answers = [503]
        make_webhook(world, receiver.url)
        for number in range(THREADS):
            make_event(world, "Hello", conversation_key=f"{number}")
        engine = Engine(lambda: async_backend_at("stand-in", url, connections=5), LIMITS)
        engine.start()
        try:
            assert wait_until(lambda: delivered_count(world) == THREADS, PATIENCE_SECONDS, 0.2)
            for number in range(THREADS):
                make_event(world, "And another thing", conversation_key=f"{number}")
            assert wait_until(lambda: delivered_count(world) == 2 * THREADS, PATIENCE_SECONDS, 0.2)
        finally:
            engine.stop(drain_seconds=5)
        payloads = [json.loads(body) for body in receiver.bodies]
    assert len(payloads) == 2 * THREADS + 1
    for thread in {one["conversation"]["id"] for one in payloads}:
        replies = [one["reply"]["message_id"] for one in payloads if one["conversation"]["id"] == thread]
        assert replies == sorted(replies)
