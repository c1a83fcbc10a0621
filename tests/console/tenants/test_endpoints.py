"""Endpoints and prices in the console: a key is typed once, a test says what came back."""

from ipaddress import ip_network

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from apps.governance.database.actor_transaction import acting_as
from apps.governance.policy.policy_table import Act
from apps.tenants.models import Agent, Endpoint, ModelPrice
from tests.support.drivers.console_client import decide, list_of, page_of, page_words, save_form
from tests.support.drivers.conversation import fault, reply
from tests.support.factories.endpoints import ENDPOINT_FORMS, make_endpoint, make_price
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.world import World

pytestmark = pytest.mark.django_db

SECRET = "sk-very-secret-0815"  # of nothing


def get_only_endpoint(world: World) -> Endpoint:
    with acting_as(world.operator):
        return Endpoint.objects.visible_to(world.operator).get()


@pytest.mark.slow
def test_an_endpoint_is_added_given_its_key_tried_and_chosen(
    world: World, admin: Client, standin: StandIn, settings: Settings
) -> None:  # R131
    settings.REACHABLE_NETWORKS = (ip_network("127.0.0.0/8"),)
    typed = {"key": "house", "title": "The house", "base_url": standin.url}
    assert admin.post(reverse("admin:tenants_endpoint_add"), typed).status_code == 302
    endpoint = get_only_endpoint(world)
    assert "none yet; choose it" in page_words(admin.get(page_of(endpoint)))
    decided = decide(admin, endpoint, "key", api_key=SECRET)
    assert decided.status_code == 303
    page = admin.get(page_of(endpoint))
    assert "kept, encrypted" in page_words(page)
    assert SECRET not in page.content.decode()
    standin.play(reply("Yes."), fault("overloaded"))
    where = reverse("admin:try_endpoint", args=[endpoint.pk])
    for message in ("answered in", "No answer:"):
        assert admin.post(where, {"read_at": endpoint.version}).status_code == 303
        assert message in page_words(admin.get(page_of(endpoint)))
    save_form(admin, page_of(world.agent), endpoint=endpoint.pk)
    with acting_as(world.operator):
        assert Agent.objects.visible_to(world.operator).get(pk=world.agent.pk).endpoint_id == endpoint.pk
    assert "support" in page_words(admin.get(page_of(endpoint)))
    assert "house" in page_words(admin.get(page_of(world.agent)))


def test_a_key_is_taken_away_and_an_address_that_leads_inside_is_refused(world: World, admin: Client) -> None:
    endpoint = make_endpoint(world)
    assert decide(admin, endpoint, "key").status_code == 303
    assert not get_only_endpoint(world).has_key
    refused = save_form(admin, page_of(endpoint), title="Ours", base_url="http://10.0.0.1")
    assert "private network" in page_words(refused)
    assert get_only_endpoint(world).base_url == endpoint.base_url


def test_who_may_not_try_is_told_so_on_the_page(world: World, operator: Client, admin: Client) -> None:
    endpoint = make_endpoint(world)
    where = reverse("admin:try_endpoint", args=[endpoint.pk])
    refused = operator.post(where, {"read_at": 1})
    assert refused.status_code == 403
    assert "Not done." not in page_words(operator.get(page_of(endpoint)))
    assert admin.get(where)["Location"] == page_of(endpoint)
    assert admin.post(where, {}).status_code == 422
    assert admin.post(reverse("admin:try_endpoint", args=[10**9]), {"read_at": 1}).status_code == 404


def test_a_price_is_set_and_withdrawn(world: World, admin: Client) -> None:
    path, typed = ENDPOINT_FORMS[Act.PRICE_SET](None, None)
    assert admin.post(path, typed).status_code == 302
    listed = page_words(admin.get(list_of(ModelPrice)))
    assert "house-*" in listed
    price = make_price(world, "claude-opus-5-5")
    assert decide(admin, price, "withdraw")["Location"] == list_of(ModelPrice)
    assert "claude-opus-5-5" not in page_words(admin.get(list_of(ModelPrice)))
