"""A worker's engine brings replies to a tenant's own server, over real sockets."""

import json
from dataclasses import replace
from ipaddress import ip_network

import pytest
from pytest_django import Settings

from apps.conversations.actions import open_conversation
from apps.governance.database.actor_transaction import acting_as
from apps.launcher.child_processes import wait_until
from apps.llm.anthropic.async_client import async_backend_at
from apps.runtime.worker.engine import Engine, EngineLimits
from apps.standin.thread_server import run_standin_thread
from apps.tenants.due_work import ROWS_PER_KIND
from apps.webhooks.models import Delivery
from apps.webhooks.outbox import enqueue_delivery
from apps.webhooks.rules import WebhookEvent
from tests.support.servers.webhook_receiver import make_webhook, run_webhook_receiver
from tests.support.timeouts import PATIENCE_SECONDS
from tests.support.worlds.world import World, make_event, make_persona, make_world

pytestmark = [pytest.mark.slow, pytest.mark.unmeasured]

LIMITS = EngineLimits(in_flight=5, threads=2, poll_seconds=0.3, lease_seconds=30)
THREADS = 4
# More than one search for due work returns.
BACKLOG = ROWS_PER_KIND + 20


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


def test_a_backlog_drains_without_waiting_for_the_next_poll(database: str, settings: Settings) -> None:
    settings.REACHABLE_NETWORKS = (ip_network("127.0.0.0/8"),)
    world = make_world()
    with run_webhook_receiver() as receiver, run_standin_thread() as url:
        make_webhook(world, receiver.url)
        for number in range(BACKLOG):
            conversation = open_conversation(
                world.agent.pk,
                actor=world.bot,
                channel="http",
                conversation_key=f"{number}",
                end_user_key="http:abc",
            )
            enqueue_delivery(WebhookEvent.RESOLVED, conversation.pk, conversation.pk, tenant_id=world.tenant.pk)
        # The engine polls when it starts, and never again.
        limits = replace(LIMITS, poll_seconds=100 * PATIENCE_SECONDS)
        engine = Engine(lambda: async_backend_at("stand-in", url, connections=5), limits)
        engine.start()
        try:
            assert wait_until(lambda: delivered_count(world) == BACKLOG, PATIENCE_SECONDS, 0.2)
        finally:
            engine.stop(drain_seconds=5)
        assert len(receiver.bodies) == BACKLOG
