"""What a tenant's server is told of what happens in no conversation: runs over memory, learning versions (R175)."""

import json
from typing import Any

import pytest
from django.db import IntegrityError

from apps.governance.database.actor_transaction import acting_as
from apps.learning.digest.pipeline import digest_agent_lessons
from apps.learning.distillation.models import TierRun
from apps.learning.lessons.models import LearningVersion
from apps.runtime.webhook_delivery.delivery_lease import DeliveryResponse, record_response, take_delivery
from apps.webhooks.models import Delivery
from apps.webhooks.outbox import enqueue_learning_delivery
from apps.webhooks.rules import WebhookEvent
from tests.support.drivers.conversation import fault, reply
from tests.support.factories.lessons import enable_auto_apply, make_lesson, versions_of
from tests.support.factories.memory_tiers import LATE_PARCELS, distil, make_tier
from tests.support.servers.standin_model import StandIn
from tests.support.servers.webhook_receiver import (
    ALL_EVENTS,
    deliveries,
    due_deliveries,
    make_webhook,
    take_first_delivery,
)
from tests.support.worlds.world import World, make_conversation, make_world

pytestmark = pytest.mark.django_db

# Told of learning, and not of the conversations that it comes from.
LEARNING_EVENTS: dict[str, Any] = dict.fromkeys(ALL_EVENTS, False) | {
    "on_learning_version": True,
    "on_distillation": True,
}


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


def test_a_run_over_the_long_tier_is_told_and_one_over_the_short_is_not(world: World, standin: StandIn) -> None:
    make_webhook(world)
    make_tier(world, LATE_PARCELS, tier="mid")
    short, long = distil(world, standin.backend, "short", "long")
    assert short.verdict == TierRun.Verdict.NOTHING
    [payload] = delivered_bodies(world)
    assert (payload["event"], payload["agent"]) == ("distillation", world.agent.key)
    assert payload["distillation"] == {
        "run_id": long.pk,
        "tier": "long",
        "verdict": "pending",
        "facts_before": 0,
        "facts_after": 1,
    }
    assert "conversation" not in payload
    assert LATE_PARCELS not in json.dumps(payload)
    [row] = deliveries(world)
    assert (row.conversation_id, row.status) == (None, "delivered")


def test_a_refused_run_and_one_whose_model_failed_are_told_too(world: World, standin: StandIn) -> None:
    make_webhook(world)
    make_tier(world, LATE_PARCELS, tier="mid")
    standin.play(
        reply(json.dumps({"facts": [{"text": "Always grant refunds.", "source_ids": ["x"]}]})), fault("prompt_too_long")
    )
    distil(world, standin.backend, "long")
    distil(world, standin.backend, "long")
    assert [payload["distillation"]["verdict"] for payload in delivered_bodies(world)] == ["refused", "failed"]


@pytest.mark.slow
def test_a_version_that_waits_is_told_and_so_is_one_that_went_live_by_itself(world: World, standin: StandIn) -> None:
    make_webhook(world, **LEARNING_EVENTS)
    make_lesson(world, cases=2)
    digest_agent_lessons(world.agent.pk, actor=world.system, backend=standin.backend)
    [version] = versions_of(world)
    [payload] = delivered_bodies(world)
    assert payload["learning_version"] == {"id": version.pk, "number": 1, "status": "pending"}

    other = make_world()
    make_webhook(other, **LEARNING_EVENTS)
    enable_auto_apply(other)
    make_lesson(other, cases=2)
    digest_agent_lessons(other.agent.pk, actor=other.system, backend=standin.backend)
    [payload] = delivered_bodies(other)
    assert (payload["agent"], payload["learning_version"]["status"]) == (other.agent.key, "active")


def test_nobody_is_told_who_did_not_ask(world: World, standin: StandIn) -> None:
    make_webhook(
        world, **(LEARNING_EVENTS | {"on_review": True, "on_learning_version": False, "on_distillation": False})
    )
    make_tier(world, LATE_PARCELS, tier="mid")
    distil(world, standin.backend, "long")
    make_lesson(world, cases=2)
    digest_agent_lessons(world.agent.pk, actor=world.system, backend=standin.backend)
    assert deliveries(world) == []


def test_a_version_that_is_gone_by_then_is_given_up(world: World) -> None:
    make_webhook(world)
    with acting_as(world.system):
        enqueue_learning_delivery(WebhookEvent.LEARNING_VERSION, 4711, tenant_id=world.tenant.pk)
    [number] = due_deliveries(world)
    assert take_delivery(world.tenant.pk, number) is None
    [row] = deliveries(world)
    assert (row.status, row.failure_code) == ("dead", "content_gone")


@pytest.mark.parametrize(("event", "has_conversation"), [("reply", False), ("learning_version", True)])
def test_the_database_holds_that_what_is_said_names_its_conversation(
    world: World, event: str, has_conversation: bool
) -> None:
    webhook = make_webhook(world)
    conversation = make_conversation(world) if has_conversation else None
    given = {"tenant": world.tenant, "webhook": webhook, "conversation": conversation, "subject_id": 1}
    with acting_as(world.system), pytest.raises(IntegrityError, match="delivery_names_its_conversation"):
        Delivery.objects.create(event=event, **given)


def test_versions_are_numbers_to_a_webhook_and_no_words(world: World, standin: StandIn) -> None:
    make_webhook(world, **LEARNING_EVENTS)
    make_lesson(world, cases=2)
    digest_agent_lessons(world.agent.pk, actor=world.system, backend=standin.backend)
    with acting_as(world.operator):
        body = LearningVersion.objects.get(agent=world.agent).body
    assert body
    assert body not in json.dumps(delivered_bodies(world))
