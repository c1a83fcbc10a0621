"""Endpoints and prices by REST: admins write them, operators read them, and no answer holds a key."""

import json
from ipaddress import ip_network

from pytest_django import Settings

from tests.support.drivers.rest_client import RestClient
from tests.support.factories.endpoints import RATES, make_endpoint, make_price
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.world import World

SECRET = "sk-very-secret-0815"  # of nothing


def test_an_endpoint_is_made_changed_and_tried(
    world: World, admin: RestClient, operator: RestClient, bot: RestClient, standin: StandIn, settings: Settings
) -> None:  # R131
    settings.REACHABLE_NETWORKS = (ip_network("127.0.0.0/8"),)
    body = {"key": "house", "title": "The house", "base_url": standin.url, "api_key": SECRET}
    made = admin.post("endpoints/", body)
    assert (made.status, made.body["has_key"]) == (201, True)
    address = f"endpoints/{made.body['id']}/"
    assert admin.ask("PATCH", address, {"title": "Ours", "version": 1}).body["title"] == "Ours"
    assert admin.ask("PUT", address, {"title": "Ours"}).code == "invalid"
    tried = admin.post(f"{address}test/", {"model": "house-1"}).body
    assert (tried["is_ok"], tried["code"], tried["model"]) == (True, "", "house-1")
    moved = admin.ask("PATCH", address, {"base_url": "http://127.0.0.1:9"})
    assert (moved.body["has_key"], admin.post(f"{address}test/", {}).body["code"]) == (False, "connection_lost")
    rotated = admin.post(f"{address}rotate-key/", {"api_key": SECRET})
    assert rotated.body["has_key"]
    read = operator.get("endpoints/?key=house").body["results"]
    assert [row["title"] for row in read] == ["Ours"]
    assert SECRET not in json.dumps([made.body, moved.body, rotated.body, read])
    assert operator.post(f"{address}test/", {}).code == "not_permitted"
    assert bot.get(address).code == "not_permitted"
    assert admin.post("endpoints/999999/test/", {}).code == "not_found"


def test_an_address_that_leads_inside_is_refused_in_words(world: World, admin: RestClient) -> None:
    body = {"key": "house", "title": "The house", "base_url": "http://169.254.169.254/latest"}
    refused = admin.post("endpoints/", body)
    assert (refused.status, refused.code) == (400, "invalid")
    assert "private network" in refused.body["errors"]["base_url"][0]
    endpoint = make_endpoint(world)
    assert admin.ask("PATCH", f"endpoints/{endpoint.pk}/", {"base_url": "http://[::1]"}).code == "invalid"


def test_a_price_is_set_once_for_a_moment_and_withdrawn(world: World, admin: RestClient, operator: RestClient) -> None:
    body = {"model": "house-*", "valid_from": "2026-01-01T00:00:00Z", **RATES}
    made = admin.post("prices/", body)
    assert (made.status, made.body["input_micro_usd"]) == (201, 1_000_000)
    assert admin.post("prices/", body).code == "conflict"
    assert operator.post("prices/", body).code == "not_permitted"
    assert admin.post("prices/", body | {"model": "two words"}).code == "invalid"
    assert admin.post("prices/", body | {"output_micro_usd": "1"}).code == "invalid"
    free = make_price(world, "free-model", input_micro_usd=0)
    assert len(operator.get("prices/").body["results"]) == 2
    assert [row["id"] for row in operator.get("prices/?model=free-model").body["results"]] == [free.pk]
    assert admin.ask("DELETE", f"prices/{free.pk}/").status == 204
