"""Where an admin enters the two keys of channels, and where people see what was given up."""

from typing import Any

import pytest
from django.test import Client

from apps.governance.database.actor_transaction import acting
from apps.governance.errors import Invalid
from apps.tenants.models import TenantSettings
from apps.webhooks.actions import amend_webhook
from apps.webhooks.models import EVENTS, Webhook
from tests.support.drivers.console_client import decide, form_values, list_of, page_of, words_of
from tests.support.servers.webhook_receiver import make_dead, make_webhook
from tests.support.worlds.world import World

pytestmark = pytest.mark.django_db


@pytest.mark.slow
def test_the_key_for_signatures_is_entered_under_settings_by_admins(
    world: World, admin: Client, operator: Client
) -> None:
    with acting(world.admin):
        settings = TenantSettings.objects.visible_to(world.admin).get()
    assert "Change the key for signatures" not in words_of(operator.get(page_of(settings)))
    shown = words_of(admin.get(page_of(settings)))
    assert "Change the key for signatures" in shown
    assert "none: nobody can prove who they are" in shown
    assert decide(admin, settings, "proof_key", key="short").status_code == 422
    assert decide(admin, settings, "proof_key", key="k" * 40).status_code < 400
    assert "Key for signatures kept" in words_of(admin.get(page_of(settings)))


def test_a_webhook_that_would_be_told_nothing_is_refused_with_what_to_do(world: World, admin: Client) -> None:
    nothing: dict[str, Any] = dict.fromkeys(EVENTS, False)
    row = make_webhook(world)
    with pytest.raises(Invalid, match="Choose at least one thing it is told of"):
        amend_webhook(row, actor=world.admin, **nothing)
    with pytest.raises(Invalid, match="switch it off"):
        make_webhook(world, **nothing)
    typed = form_values(admin.get(page_of(row)).content.decode(), page_of(row))
    refused = admin.post(page_of(row), {name: value for name, value in typed.items() if name not in EVENTS})
    assert "Choose at least one thing it is told of." in words_of(refused)


def test_what_was_given_up_is_seen_and_sent_again(world: World, operator: Client) -> None:
    row = make_dead(world)
    assert "Given up 1" in words_of(operator.get(page_of(row)))
    assert "not used yet" in words_of(operator.get(list_of(Webhook)))
    assert decide(operator, row, "replay").status_code < 400
    shown = words_of(operator.get(page_of(row)))
    assert "On their way 1" in shown
    assert "Given up 0" in shown
