"""Where an admin enters the two keys of channels, and where people see what was given up."""

from typing import Any

import pytest
from django.test import Client

from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import Invalid
from apps.tenants.models import TenantSettings
from apps.webhooks.actions import amend_webhook
from apps.webhooks.models import EVENT_FIELDS, Webhook
from tests.support.drivers.console_client import decide, form_values, list_of, page_of, page_words
from tests.support.servers.webhook_receiver import make_failed_delivery, make_webhook
from tests.support.worlds.world import World

pytestmark = pytest.mark.django_db


@pytest.mark.slow
def test_the_key_for_signatures_is_entered_under_settings_by_admins(
    world: World, admin: Client, operator: Client
) -> None:
    with acting_as(world.admin):
        settings = TenantSettings.objects.visible_to(world.admin).get()
    assert "Change the key for signatures" not in page_words(operator.get(page_of(settings)))
    shown = page_words(admin.get(page_of(settings)))
    assert "Change the key for signatures" in shown
    assert "none: nobody can prove who they are" in shown
    assert decide(admin, settings, "proof_key", key="short").status_code == 422
    assert decide(admin, settings, "proof_key", key="k" * 40).status_code < 400
    assert "Key for signatures kept" in page_words(admin.get(page_of(settings)))


def test_a_webhook_that_would_be_told_nothing_is_refused_with_what_to_do(world: World, admin: Client) -> None:
    nothing: dict[str, Any] = dict.fromkeys(EVENT_FIELDS, False)
    row = make_webhook(world)
    with pytest.raises(Invalid, match="Choose at least one event"):
        amend_webhook(row, actor=world.admin, **nothing)
    with pytest.raises(Invalid, match="switch the webhook off"):
        make_webhook(world, **nothing)
    typed = form_values(admin.get(page_of(row)).content.decode(), page_of(row))
    refused = admin.post(page_of(row), {name: value for name, value in typed.items() if name not in EVENT_FIELDS})
    assert "Choose at least one event." in page_words(refused)


def test_what_was_given_up_is_seen_and_sent_again(world: World, operator: Client) -> None:
    row = make_failed_delivery(world)
    assert "Given up 1" in page_words(operator.get(page_of(row)))
    assert "not used yet" in page_words(operator.get(list_of(Webhook)))
    assert decide(operator, row, "replay").status_code < 400
    shown = page_words(operator.get(page_of(row)))
    assert "On their way 1" in shown
    assert "Given up 0" in shown
