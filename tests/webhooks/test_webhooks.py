"""What a tenant's own server is told: noted with what it tells, signed, in order, at least once, and given up in the end."""

import asyncio
import json
from asyncio import wait_for
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from ipaddress import ip_network
from threading import Event
from typing import Any

import pytest
from aiohttp import TCPConnector
from django.db import DatabaseError, transaction
from django.utils import timezone
from pytest_django import Settings
from standardwebhooks import Webhook as Receiver

from apps.conversations.actions import resolve_conversation
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import Conflict, Invalid, NotVisible
from apps.runtime.webhook_delivery.delivery_lease import DeliveryResponse, record_response, take_delivery
from apps.runtime.webhook_delivery.http_sender import guarded_session, post_delivery
from apps.runtime.webhook_delivery.payloads import DeliveryRequest
from apps.tenants.actions import amend_agent
from apps.webhooks.actions import amend_webhook
from apps.webhooks.delivery_replay import replay_deliveries
from apps.webhooks.models import Delivery, Webhook, WebhookHealth
from apps.webhooks.rules import RETRY_PAUSES
from tests.support.drivers.conversation import reply, run_customer_turn, run_turn, send_customer_message, tool
from tests.support.servers.standin_model import StandIn
from tests.support.servers.webhook_receiver import (
    SECRET,
    WebhookReceiver,
    deliveries,
    due_deliveries,
    make_deliveries_due,
    make_failed_delivery,
    make_webhook,
    run_webhook_receiver,
    take_first_delivery,
)
from tests.support.worlds.world import World, make_conversation, make_world

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    return make_world()


@pytest.fixture
def receiver(settings: Settings) -> Iterator[WebhookReceiver]:
    settings.REACHABLE_NETWORKS = (ip_network("127.0.0.0/8"),)
    with run_webhook_receiver() as receiver:
        yield receiver


def post_parcel(request: DeliveryRequest) -> DeliveryResponse:
    async def once() -> DeliveryResponse:
        async with guarded_session() as session:
            return await post_delivery(session, request)

    return asyncio.run(once())


def test_a_reply_is_told_with_its_words_and_a_signature_that_holds(
    world: World, standin: StandIn, receiver: WebhookReceiver
) -> None:
    make_webhook(world, receiver.url)
    standin.play(reply("It is on its way."))
    turn = run_customer_turn(world, "Where is my parcel?", standin)
    request = take_first_delivery(world)
    assert record_response(request, post_parcel(request)) is None
    [body], [headers] = receiver.bodies, receiver.headers
    payload = json.loads(body)
    assert (payload["event"], payload["agent"]) == ("reply", world.agent.key)
    assert payload["reply"] == {
        "message_id": turn.reply_id,
        "text": "It is on its way.",
        "sender": "agent",
        "turn_id": turn.pk,
        "line": "",
    }
    assert payload["conversation"]["end_user_key"] == "http:abc123"
    assert Receiver(SECRET).verify(body, headers) == payload
    assert headers["webhook-id"] == payload["id"]
    [row] = deliveries(world)
    assert (row.status, row.http_status, row.attempts) == ("delivered", 204, 1)
    assert not due_deliveries(world)


def test_drafts_escalations_and_ends_are_told_to_who_asked_for_them(world: World, standin: StandIn) -> None:
    make_webhook(world)
    make_webhook(world, on_draft=False, on_escalation=False, on_resolved=False)
    amend_agent(world.agent, actor=world.admin, send_mode="suggest")
    standin.play(tool("escalate", reason="policy", question="May we refund?"), reply("I asked."))
    event = send_customer_message(world, "Refund me")
    run_turn(world, event, standin.backend)
    resolve_conversation(event.conversation, actor=world.operator)
    assert [row.event for row in deliveries(world)] == ["escalation", "draft", "resolved"]
    payloads = []
    while due_deliveries(world):
        request = take_first_delivery(world)
        payloads.append(json.loads(request.body))
        record_response(request, DeliveryResponse(200))
    assert payloads[0]["escalation"]["question"] == "May we refund?"
    assert payloads[1]["draft"]["grounding"] == "none"
    assert payloads[2]["outcome"] == "unknown"


def test_what_is_taken_back_is_not_told(world: World) -> None:
    make_webhook(world)
    conversation = make_conversation(world)
    with transaction.atomic():
        resolve_conversation(conversation, actor=world.operator)
        assert len(deliveries(world)) == 1
        transaction.set_rollback(True)
    assert deliveries(world) == []


@pytest.mark.parametrize("values", [{"is_active": False}, {"secret": ""}, {"on_resolved": False}])
def test_a_webhook_that_is_off_or_has_no_secret_is_told_nothing(world: World, values: dict[str, Any]) -> None:
    make_webhook(world, **values)
    resolve_conversation(make_conversation(world), actor=world.operator)
    assert deliveries(world) == []


def test_nothing_overtakes_what_waits_before_it_in_its_conversation(world: World, standin: StandIn) -> None:
    make_webhook(world)
    run_customer_turn(world, "One", standin)
    run_customer_turn(world, "Two", standin)
    run_customer_turn(world, "Elsewhere", standin, thread="other")
    first, second, other = (row.pk for row in deliveries(world))
    assert sorted(due_deliveries(world)) == [first, other]
    assert take_delivery(world.tenant.pk, second) is None
    request = take_first_delivery(world)
    assert take_delivery(world.tenant.pk, first) is None
    record_response(request, DeliveryResponse(503, "http_503"))
    assert second not in due_deliveries(world)
    make_deliveries_due(world)
    again = take_delivery(world.tenant.pk, first)
    assert again is not None
    assert (again.body, again.attempts) == (request.body, 2)
    assert record_response(again, DeliveryResponse(200)) == second


def test_a_worker_that_dies_on_the_way_is_followed_by_one_with_the_same_number(
    world: World, standin: StandIn, receiver: WebhookReceiver
) -> None:
    make_webhook(world, receiver.url)
    run_customer_turn(world, "Hello", standin)
    late = take_first_delivery(world)
    post_parcel(late)
    assert not due_deliveries(world)
    make_deliveries_due(world)
    request = take_first_delivery(world)
    record_response(request, post_parcel(request))
    assert [headers["webhook-id"] for headers in receiver.headers] == [str(request.delivery_id)] * 2
    # Whoever was overtaken notes nothing.
    assert record_response(late, DeliveryResponse(failure="timeout")) is None
    [row] = deliveries(world)
    assert (row.status, row.failure_code) == ("delivered", "")


def test_what_nobody_takes_is_given_up_and_sent_again_by_a_person(world: World, standin: StandIn) -> None:
    webhook = make_webhook(world)
    run_customer_turn(world, "Hello", standin)
    for tries in range(len(RETRY_PAUSES) + 1):
        make_deliveries_due(world)
        with acting_as(world.system):
            WebhookHealth.objects.update(paused_until=None)
        request = take_first_delivery(world)
        assert request.attempts == tries + 1
        record_response(request, DeliveryResponse(500, "http_500"))
    [row] = deliveries(world)
    assert (row.status, row.http_status, row.failure_code) == ("dead", 500, "http_500")
    assert not due_deliveries(world)
    assert replay_deliveries(webhook.pk, actor=world.operator, delivery_id=row.pk) == 1
    again = take_first_delivery(world)
    assert (again.delivery_id, again.attempts) == (row.pk, 1)
    with pytest.raises(Conflict, match="given up"):
        replay_deliveries(webhook.pk, actor=world.operator)


def test_a_webhook_that_only_fails_is_left_alone_and_one_success_ends_that(world: World) -> None:
    webhook = make_webhook(world)
    for _ in range(11):
        resolve_conversation(make_conversation(world), actor=world.operator)
    for _ in range(10):
        record_response(take_first_delivery(world), DeliveryResponse(failure="timeout"))
    with acting_as(world.operator):
        health = WebhookHealth.objects.get(webhook=webhook)
    assert (health.consecutive_failures, due_deliveries(world)) == (10, [])
    assert health.paused_until is not None
    with acting_as(world.system):
        WebhookHealth.objects.update(paused_until=timezone.now() - timedelta(seconds=1))
    record_response(take_first_delivery(world), DeliveryResponse(200))
    with acting_as(world.operator):
        recovered = WebhookHealth.objects.get(webhook=webhook)
    assert (recovered.consecutive_failures, recovered.failing_since, recovered.paused_until) == (0, None, None)


@pytest.mark.slow
def test_tries_that_fail_together_make_one_rest_and_the_next_is_twice_as_long(world: World) -> None:
    webhook = make_webhook(world)
    for _ in range(17):
        resolve_conversation(make_conversation(world), actor=world.operator)

    def rest() -> float:
        with acting_as(world.operator):
            health = WebhookHealth.objects.get(webhook=webhook)
        assert health.paused_until is not None
        return (health.paused_until - timezone.now()).total_seconds()

    *known, last = due_deliveries(world)
    under_way = [take_delivery(world.tenant.pk, each) for each in known]
    for request in filter(None, under_way):
        record_response(request, DeliveryResponse(failure="timeout"))
    assert len(under_way) == 16
    assert 50 < rest() <= 60
    # Somebody had looked for what is due before the rest began.
    assert take_delivery(world.tenant.pk, last) is None
    with acting_as(world.system):
        WebhookHealth.objects.update(paused_until=timezone.now() - timedelta(seconds=1))
    record_response(take_first_delivery(world), DeliveryResponse(failure="timeout"))
    assert 110 < rest() <= 120


@pytest.mark.parametrize(
    ("status", "taken_by_them", "failure"), [(200, True, ""), (302, False, "http_302"), (429, False, "http_429")]
)
def test_only_a_success_counts_and_nobody_is_followed_elsewhere(
    world: World, receiver: WebhookReceiver, status: int, taken_by_them: bool, failure: str
) -> None:
    make_webhook(world, receiver.url)
    receiver.answers, receiver.moved_to = [status], receiver.url
    resolve_conversation(make_conversation(world), actor=world.operator)
    answer = post_parcel(take_first_delivery(world))
    assert (answer.is_taken, answer.failure, len(receiver.bodies)) == (taken_by_them, failure, 1)


def test_no_inner_address_is_reached_whatever_its_name_says(
    world: World, receiver: WebhookReceiver, settings: Settings
) -> None:
    named = receiver.url.replace("127.0.0.1", "localhost")
    make_webhook(world, named)
    resolve_conversation(make_conversation(world), actor=world.operator)
    request = take_first_delivery(world)
    settings.REACHABLE_NETWORKS = ()
    assert post_parcel(request) == DeliveryResponse(failure="address_refused")
    with pytest.raises(Invalid, match="private network"):
        make_webhook(world, named)


def test_a_name_is_looked_up_while_the_loops_own_threads_are_all_taken() -> None:
    async def looked_up() -> list[str]:
        loop, taken_up = asyncio.get_running_loop(), Event()
        loop.set_default_executor(ThreadPoolExecutor(1))
        loop.run_in_executor(None, taken_up.wait)
        async with guarded_session() as session:
            try:
                connector = session.connector
                assert isinstance(connector, TCPConnector)
                return [found["host"] for found in await wait_for(connector._resolve_host("localhost", 80), 5)]
            finally:
                taken_up.set()

    assert {"127.0.0.1", "::1"} & set(asyncio.run(looked_up()))


def test_what_was_taken_long_ago_goes_and_what_was_given_up_or_taken_lately_stays(world: World) -> None:
    webhook = make_failed_delivery(world)
    for _ in range(3):
        resolve_conversation(make_conversation(world), actor=world.operator)
    dead, lately, old, _ = deliveries(world)
    ago = {lately.pk: timezone.now() - timedelta(days=29), old.pk: timezone.now() - timedelta(days=31)}
    with acting_as(world.system):
        for pk, moment in ago.items():
            Delivery.objects.filter(pk=pk).update(status="delivered", delivered_at=moment)
    last = take_first_delivery(world)
    record_response(last, DeliveryResponse(200))
    assert [row.pk for row in deliveries(world)] == [dead.pk, lately.pk, last.delivery_id]
    for pk in (dead.pk, last.delivery_id):
        with pytest.raises(DatabaseError), transaction.atomic(), acting_as(world.system):
            Delivery.objects.filter(pk=pk).delete()
    assert webhook.pk == dead.webhook_id


def test_what_waits_goes_to_the_new_address_and_nowhere_while_it_is_off(world: World) -> None:
    webhook = make_webhook(world)
    resolve_conversation(make_conversation(world), actor=world.operator)
    amend_webhook(webhook, actor=world.admin, url="https://elsewhere.example", is_active=False)
    assert not due_deliveries(world)
    amend_webhook(webhook, actor=world.admin, is_active=True)
    assert take_first_delivery(world).url == "https://elsewhere.example"


def test_another_tenants_deliveries_are_nobodys_to_send_again(world: World) -> None:
    theirs = make_failed_delivery(make_world())
    with pytest.raises(NotVisible):
        replay_deliveries(theirs.pk, actor=world.operator)
    with acting_as(world.operator):
        assert not Webhook.objects.filter(pk=theirs.pk).exists()
