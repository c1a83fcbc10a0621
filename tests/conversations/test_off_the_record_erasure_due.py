"""Off the record: when words are due to go, whoever said the last one, and what they wait for."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.db.models.functions import Now
from django.utils import timezone

from apps.conversations.actions import (
    abandon_conversation,
    open_conversation,
    resolve_conversation,
    take_over_conversation,
)
from apps.conversations.models import Conversation, InboundEvent, Message
from apps.governance.database.actor_transaction import acting_as
from apps.runtime.models import Turn
from apps.runtime.off_the_record_erasure import ERASED_PER_SWEEP, erase_conversation, erase_due_conversations
from apps.runtime.schedules.schedule_runner import collect_due_work
from apps.runtime.webhook_delivery.delivery_lease import DeliveryResponse, record_response, take_delivery
from apps.tenants.due_work import due_work
from apps.webhooks.actions import amend_webhook
from apps.webhooks.delivery_replay import replay_deliveries
from apps.webhooks.models import Delivery, WebhookHealth
from tests.support.drivers.conversation import reply, run_turn, send_customer_message
from tests.support.servers.standin_model import StandIn
from tests.support.servers.webhook_receiver import make_webhook
from tests.support.worlds.world import World, make_world

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> World:
    return make_world()


@pytest.fixture
def private(world: World) -> Conversation:
    return make_private(world, "private")


def make_private(world: World, key: str) -> Conversation:
    """Off the record, and nothing was said yet."""
    return open_conversation(world.agent.pk, actor=world.bot, channel="http", conversation_key=key, off_the_record=True)


def due_erasures(world: World) -> list[int]:
    return [row_id for tenant_id, row_id in due_work("off_the_record_erasures") if tenant_id == world.tenant.pk]


def run_sql(world: World, statement: str, *values: str | int) -> None:
    with acting_as(world.system), connection.cursor() as cursor:
        cursor.execute(statement, values)


def insert_event(world: World, conversation: Conversation, minutes: int) -> None:
    run_sql(
        world,
        "INSERT INTO conversations_inboundevent (tenant_id, conversation_id, kind, idempotency_key, sender_name, line_key,"
        " sent_by, text, text_sha256, received_at) VALUES (%s, %s, 'message', %s, '', '', '', 'x', 'x',"
        " now() - make_interval(mins => %s))",
        world.tenant.pk,
        conversation.pk,
        f"k{minutes}",
        minutes,
    )


def insert_operator_message(world: World, conversation: Conversation, minutes: int) -> None:
    """A person wrote, in no turn."""
    run_sql(
        world,
        "INSERT INTO conversations_message (tenant_id, conversation_id, position, sender, text, tool_calls, is_reply, created_at)"
        " VALUES (%s, %s, 7, 'operator', 'x', '[]', true, now() - make_interval(mins => %s))",
        world.tenant.pk,
        conversation.pk,
        minutes,
    )


def mark_erased(world: World, conversation: Conversation, minutes: int) -> None:
    """It was forgotten so long ago, and nothing of it changed since."""
    run_sql(
        world,
        "UPDATE conversations_conversation SET erased_at = now() - make_interval(mins => %s) WHERE id = %s",
        minutes,
        conversation.pk,
    )


def texts(world: World, conversation: Conversation) -> set[str]:
    with acting_as(world.system):
        rows = [model.objects.filter(conversation=conversation) for model in (InboundEvent, Message)]
        return {row.text for each in rows for row in each}


def version(world: World, conversation: Conversation) -> int:
    with acting_as(world.system):
        return Conversation.objects.visible_to(world.system).get(pk=conversation.pk).version


@pytest.mark.parametrize("say", [insert_event, insert_operator_message])
@pytest.mark.parametrize(("minutes", "is_due"), [(14, False), (16, True)])
def test_a_conversation_is_erased_15_minutes_after_anybodys_last_message(
    world: World, private: Conversation, say: Callable[..., None], minutes: int, is_due: bool
) -> None:
    # R178
    mark_erased(world, private, 60)
    assert not due_erasures(world)
    say(world, private, minutes)
    assert due_erasures(world) == [private.pk] * is_due
    erase_due_conversations([(world.tenant.pk, private.pk)])
    assert not due_erasures(world)


@pytest.mark.parametrize("end", [resolve_conversation, abandon_conversation])
def test_what_still_waited_when_the_rest_was_forgotten_goes_with_the_end(
    world: World, private: Conversation, end: Callable[..., Conversation]
) -> None:
    # R178
    insert_event(world, private, 16)
    erase_due_conversations(due_work("off_the_record_erasures"))
    assert texts(world, private) == {"x"}
    assert not due_erasures(world)
    end(private, actor=world.operator)
    assert due_erasures(world) == [private.pk]
    erase_due_conversations(due_work("off_the_record_erasures"))
    assert texts(world, private) == {""}
    assert not due_erasures(world)


def test_a_person_s_words_go_with_the_end(world: World, private: Conversation) -> None:
    # R178
    mark_erased(world, private, 60)
    take_over_conversation(private, actor=world.operator)
    insert_operator_message(world, private, 1)
    assert not due_erasures(world)
    resolve_conversation(private, actor=world.operator)
    erase_due_conversations(due_work("off_the_record_erasures"))
    assert texts(world, private) == {""}
    assert not due_erasures(world)


def test_a_turn_that_ends_days_behind_its_conversation_is_forgotten_too(world: World, private: Conversation) -> None:
    # R178
    resolve_conversation(private, actor=world.operator)
    mark_erased(world, private, 3 * 24 * 60)
    assert not due_erasures(world)
    with acting_as(world.system):
        turn = Turn.objects.create(tenant=world.tenant, conversation=private, lease_until=Now())
    assert not due_erasures(world)
    with acting_as(world.system):
        Turn.objects.filter(pk=turn.pk).update(status="failed", failure="No.", failure_code="no", finished_at=Now())
    assert due_erasures(world) == [private.pk]


def test_who_wrote_after_the_look_loses_nothing_and_what_two_workers_found_goes_once(
    world: World, private: Conversation
) -> None:
    # R178
    insert_event(world, private, 16)
    found = due_work("off_the_record_erasures")
    insert_event(world, private, 0)
    before = version(world, private)
    erase_due_conversations(found)
    assert version(world, private) == before
    resolve_conversation(private, actor=world.operator)
    erase_due_conversations(found)
    erase_due_conversations(found)
    assert version(world, private) == before + 2


def test_a_few_are_forgotten_at_a_look(world: World) -> None:
    # R178
    for number in range(ERASED_PER_SWEEP + 1):
        resolve_conversation(make_private(world, f"private-{number}"), actor=world.operator)
    collect_due_work()
    assert len(due_erasures(world)) == 1
    collect_due_work()
    assert not due_erasures(world)


def test_a_database_that_fails_at_one_ends_neither_the_look_nor_the_others(world: World) -> None:
    # R178
    found = [resolve_conversation(make_private(world, key), actor=world.operator).pk for key in ("one", "two")]
    failed: list[Any] = []

    def failing(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        if "find_due_erasure(app_tenant" in sql and not failed:
            failed.append(params["conversation"])
            raise OperationalError("The server went away.")
        return execute(sql, params, many, context)

    with connection.execute_wrapper(failing):
        erase_due_conversations([(world.tenant.pk, each) for each in found])
    assert due_erasures(world) == failed
    assert set(failed) < set(found)


def make_answered_conversation(world: World, standin: StandIn) -> Conversation:
    """A reply off the record that a webhook is to be told, in a conversation that has ended."""
    standin.play(reply("Between us."))
    event = send_customer_message(world, "Between us?", off_the_record=True)
    run_turn(world, event, standin.backend)
    return resolve_conversation(event.conversation, actor=world.operator)


def test_a_reply_is_told_before_it_is_forgotten(world: World, standin: StandIn) -> None:
    # R178
    make_webhook(world, on_resolved=False)
    conversation = make_answered_conversation(world, standin)
    assert not due_erasures(world)
    [delivery] = due_work("webhook_deliveries")
    request = take_delivery(*delivery)
    assert request is not None
    assert b"Between us." in request.body
    record_response(request, DeliveryResponse(200))
    assert due_erasures(world) == [conversation.pk]


@pytest.mark.parametrize("days", [0, 3])
def test_a_reply_that_cannot_be_told_is_forgotten_in_the_end_and_then_given_up(
    world: World, standin: StandIn, days: int
) -> None:
    # R178
    conversation = make_answered_conversation(world, standin)
    webhook = make_webhook(world, is_active=bool(days))
    with acting_as(world.system):
        Delivery.objects.create(
            tenant=world.tenant,
            webhook=webhook,
            conversation=conversation,
            event="reply",
            subject_id=Message.objects.get(conversation=conversation, is_reply=True).pk,
            created_at=timezone.now() - timedelta(days=days),
        )
    assert due_erasures(world) == [conversation.pk]
    erase_conversation(conversation)
    if not days:
        amend_webhook(webhook, actor=world.admin, is_active=True)
    for _ in range(2):
        [delivery] = due_work("webhook_deliveries")
        assert take_delivery(*delivery) is None
        with acting_as(world.operator):
            [row] = Delivery.objects.all()
            assert (row.status, row.failure_code) == ("dead", "content_gone")
            assert not WebhookHealth.objects.filter(consecutive_failures__gt=0).exists()
        replay_deliveries(webhook.pk, actor=world.operator)
