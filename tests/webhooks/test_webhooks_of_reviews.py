"""What a tenant's server is told of reviews that wait: once each, signed, and none of the words."""

import json
from datetime import timedelta
from typing import Any

import pytest
from django.db import IntegrityError
from django.utils import timezone

from apps.conversations.actions import resolve_conversation
from apps.governance.database.actor_transaction import acting_as
from apps.governance.models import Proposal
from apps.governance.proposals.actions import snooze_proposal
from apps.notifications.review_webhooks import enqueue_reviews
from apps.notifications.tasks import note_reviews
from apps.personas.actions import propose_patch
from apps.runtime.webhook_delivery.delivery_lease import DeliveryResponse, record_response
from apps.tenants.due_work import due_work
from apps.webhooks.models import Delivery, Webhook
from tests.support.factories.expired_proposals import let_run_out
from tests.support.servers.webhook_receiver import (
    ALL_EVENTS,
    deliveries,
    due_deliveries,
    make_webhook,
    take_first_delivery,
)
from tests.support.worlds.world import World, make_conversation, make_persona, make_world

pytestmark = pytest.mark.django_db

REVIEW_EVENTS: dict[str, Any] = dict.fromkeys(ALL_EVENTS, False) | {"on_review": True}
WORDS = "Say hello to Mrs Keller first."


@pytest.fixture
def world() -> World:
    return make_world()


def delivered_bodies(world: World) -> list[Any]:
    """The bodies of all that is due, each of them taken."""
    payloads = []
    while due_deliveries(world):
        request = take_first_delivery(world)
        payloads.append(json.loads(request.body))
        record_response(request, DeliveryResponse(200))
    return payloads


def propose_persona_change(world: World) -> Proposal:
    return propose_patch(make_persona(world), actor=world.bot, text=WORDS)


def is_due(webhook: Webhook) -> bool:
    return (webhook.tenant_id, webhook.pk) in due_work("review_webhooks")


def test_events_of_conversations_are_sent_before_earlier_reviews(world: World) -> None:
    webhook = make_webhook(world)
    propose_persona_change(world)
    enqueue_reviews(world.tenant.pk, webhook.pk)
    first, second = make_conversation(world), make_conversation(world)
    for each in (first, second):
        resolve_conversation(each, actor=world.operator)
    events = {each.pk: (each.event, each.conversation_id) for each in deliveries(world)}
    sent = [events[delivery_id] for delivery_id in due_deliveries(world)]
    assert sent == [("resolved", first.pk), ("resolved", second.pk), ("review", None)]


def test_a_review_that_waits_is_told_once_and_without_its_words(world: World) -> None:
    webhook = make_webhook(world, **REVIEW_EVENTS)
    assert not is_due(webhook)
    proposal = propose_persona_change(world)
    assert is_due(webhook)
    note_reviews(world.tenant.pk, webhook.pk)
    assert not is_due(webhook)
    [payload] = delivered_bodies(world)
    assert (payload["event"], payload["agent"]) == ("review", world.agent.key)
    assert payload["review"] == {"id": proposal.pk, "kind": "persona.patch", "risk": proposal.risk, "state": "open"}
    assert "Keller" not in json.dumps(payload)
    enqueue_reviews(world.tenant.pk, webhook.pk)
    assert [(row.event, row.status) for row in deliveries(world)] == [("review", "delivered")]


def test_each_webhook_that_asked_is_told_and_no_other(world: World) -> None:
    propose_persona_change(world)
    asked = make_webhook(world, **REVIEW_EVENTS)
    others = [
        make_webhook(world, **(REVIEW_EVENTS | {"on_reply": True, "on_review": False})),
        make_webhook(world, **(REVIEW_EVENTS | {"is_active": False})),
        make_webhook(world, **(REVIEW_EVENTS | {"secret": ""})),
    ]
    for webhook in (asked, *others):
        enqueue_reviews(world.tenant.pk, webhook.pk)
    assert [row.webhook_id for row in deliveries(world)] == [asked.pk]
    assert not any(is_due(webhook) for webhook in others)


def test_what_was_put_off_is_not_told(world: World) -> None:
    webhook = make_webhook(world, **REVIEW_EVENTS)
    proposal = propose_persona_change(world)
    snooze_proposal(proposal, actor=world.operator, until=timezone.now() + timedelta(hours=1))
    assert not is_due(webhook)
    enqueue_reviews(world.tenant.pk, webhook.pk)
    assert deliveries(world) == []


def test_a_review_whose_time_has_run_out_is_not_told(world: World) -> None:
    webhook = make_webhook(world, **REVIEW_EVENTS)
    let_run_out(propose_persona_change(world), world)
    assert not is_due(webhook)
    enqueue_reviews(world.tenant.pk, webhook.pk)
    assert deliveries(world) == []


def test_the_database_holds_that_a_review_is_told_once(world: World) -> None:
    webhook = make_webhook(world, **REVIEW_EVENTS)
    proposal = propose_persona_change(world)
    enqueue_reviews(world.tenant.pk, webhook.pk)
    with acting_as(world.system), pytest.raises(IntegrityError, match="review_has_one_delivery_per_webhook"):
        Delivery.objects.create(tenant=world.tenant, webhook=webhook, event="review", subject_id=proposal.pk)


def test_another_tenants_review_is_told_to_nobody_here(world: World) -> None:
    webhook = make_webhook(world, **REVIEW_EVENTS)
    propose_persona_change(make_world())
    enqueue_reviews(world.tenant.pk, webhook.pk)
    assert deliveries(world) == []
    assert not is_due(webhook)
