"""What a webhook's deliveries are signed with: rotated without a gap, never with nothing."""

import pytest
from pytest_django import Settings

from apps.conversations.actions import resolve_conversation
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import Invalid
from apps.runtime.webhook_delivery.delivery_lease import take_delivery
from apps.runtime.webhook_delivery.payloads import build_request
from apps.tenants.models import SealedSecret
from apps.tenants.sealed_secrets import seal
from apps.webhooks.actions import rotate_webhook_secret
from apps.webhooks.delivery_replay import replay_deliveries
from apps.webhooks.models import Delivery
from tests.support.servers.webhook_receiver import (
    NEW_SECRET,
    SECRET,
    deliveries,
    due_deliveries,
    make_deliveries_due,
    make_failed_delivery,
    make_webhook,
    take_first_delivery,
)
from tests.support.worlds.world import World, make_conversation, make_world

pytestmark = pytest.mark.django_db

NEWEST_SECRET = "whsec_" + "u" * 40


@pytest.fixture
def world() -> World:
    return make_world()


def test_a_secret_is_rotated_without_a_gap_and_the_one_that_is_gone_signs_nothing(world: World) -> None:
    webhook = make_webhook(world)
    for flawed in ("", "whsec_c2hvcnQ=", "s" * 40):
        with pytest.raises(Invalid):
            rotate_webhook_secret(webhook, actor=world.admin, secret=flawed)
    resolve_conversation(make_conversation(world), actor=world.operator)
    rotate_webhook_secret(webhook, actor=world.admin, secret=NEW_SECRET)
    assert take_first_delivery(world).secrets == (NEW_SECRET, SECRET)
    rotate_webhook_secret(webhook, actor=world.admin, secret=NEWEST_SECRET, keep_former=False)
    make_deliveries_due(world)
    assert take_first_delivery(world).secrets == (NEWEST_SECRET,)
    with acting_as(world.system):
        assert SealedSecret.objects.filter(tenant=world.tenant).count() == 1


def test_a_secret_changed_between_two_looks_is_read_again(world: World) -> None:
    webhook = make_webhook(world)
    resolve_conversation(make_conversation(world), actor=world.operator)
    tried = take_first_delivery(world)
    with acting_as(world.system):
        read = Delivery.objects.select_related("webhook", "conversation__agent").get(pk=tried.delivery_id)
    rotate_webhook_secret(webhook, actor=world.admin, secret=NEW_SECRET, keep_former=False)
    with acting_as(world.system):
        assert build_request(tried, read).secrets == (NEW_SECRET,)


def test_nothing_leaves_unsigned(world: World) -> None:
    webhook = make_webhook(world, secret="")
    replay_deliveries(make_failed_delivery(world, webhook).pk, actor=world.operator)
    assert take_delivery(world.tenant.pk, due_deliveries(world)[0]) is None
    [row] = deliveries(world)
    assert (row.status, row.failure_code) == ("waiting", "secret_unreadable")


def test_a_secret_that_nothing_opens_fails_the_try_and_keeps_the_delivery(world: World, settings: Settings) -> None:
    make_webhook(world)
    resolve_conversation(make_conversation(world), actor=world.operator)
    settings.SEALING_KEYS = ["MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="]
    assert take_delivery(world.tenant.pk, due_deliveries(world)[0]) is None
    [row] = deliveries(world)
    assert (row.status, row.failure_code) == ("waiting", "secret_unreadable")


def test_a_secret_of_another_form_signs_nothing(world: World) -> None:
    make_webhook(world)
    resolve_conversation(make_conversation(world), actor=world.operator)
    with acting_as(world.system):
        SealedSecret.objects.filter(tenant=world.tenant).update(ciphertext=seal("s" * 40, world.tenant.pk))
    assert take_delivery(world.tenant.pk, due_deliveries(world)[0]) is None
    [row] = deliveries(world)
    assert (row.status, row.failure_code) == ("waiting", "secret_unreadable")
