"""Who asks too often is told so and until when; the broker counts, and while it is away each process for itself."""

import time

import pytest
import redis
from pytest_django import Settings

from apps.api.framework.in_process_requests import ApiCaller, ApiRequest, call_api
from apps.api.protocol import rate_limits
from apps.launcher.valkey import Valkey
from tests.support.drivers.rest_client import RestClient
from tests.support.factories.notes import make_note
from tests.support.rate_limit_window import window
from tests.support.temp_folders import own_folder
from tests.support.worlds.world import World

__all__ = ["window"]

TASK = {"kind": "task", "text": "Call them back."}


@pytest.mark.usefixtures("window")
def test_who_asks_too_often_is_told_until_when(world: World, bot: RestClient, operator: RestClient) -> None:
    for left in (2, 1, 0):
        answer = bot.get("notes/")
        assert answer.status == 200
        assert answer.headers["RateLimit"].startswith(f'"asker";r={left};t=')
        assert answer.headers["RateLimit-Policy"] == '"asker";q=3;w=60, "tenant";q=5;w=60'
    refused = bot.get("notes/")
    assert (refused.status, refused.code) == (429, "throttled")
    assert 0 < int(refused.headers["Retry-After"]) <= 60
    assert refused.headers["RateLimit"].startswith('"asker";r=0;t=')
    # Others of the tenant share its limit, not the agent's.
    assert operator.get("notes/").status == 200
    assert operator.get("notes/").code == "throttled"


@pytest.mark.usefixtures("window")
def test_a_refused_request_does_nothing(world: World, bot: RestClient, settings: Settings) -> None:
    settings.REQUESTS_PER_MINUTE = 1
    assert bot.post("notes/", TASK).status == 201
    assert bot.post("notes/", TASK).status == 429
    settings.REQUESTS_PER_MINUTE = settings.REQUESTS_PER_MINUTE_OF_TENANT = 0
    answer = bot.get("notes/")
    assert len(answer.body["results"]) == 1
    assert "RateLimit" not in answer.headers


@pytest.mark.usefixtures("window")
def test_a_bulk_counts_for_each_of_its_items(world: World, operator: RestClient) -> None:
    note = make_note(world)
    items = [{"action": "update", "id": note.pk, "body": {"text": text}} for text in "abcd"]
    assert operator.post("notes/bulk/", {"items": items}).code == "throttled"
    assert operator.get("notes/").status == 429


@pytest.mark.usefixtures("window")
def test_a_request_made_inside_counts_as_one_that_came_over_the_wire(world: World) -> None:
    caller = ApiCaller(world.bot, world.token, "testserver", is_secure=False)
    statuses = [call_api(ApiRequest("GET", "notes/", {}), caller).status for _ in range(4)]
    assert statuses == [200, 200, 200, 429]


def test_the_broker_counts_for_all_processes_and_its_going_away_refuses_nobody(
    world: World, bot: RestClient, settings: Settings, window: None
) -> None:
    valkey = Valkey(own_folder(), throwaway=True)
    valkey.start()
    settings.CELERY_BROKER_URL = valkey.url
    rate_limits._local_counts.away_until = 0.0
    try:
        assert bot.get("notes/").headers["RateLimit"].startswith('"asker";r=2')
        with redis.Redis.from_url(valkey.client_url, decode_responses=True) as client:
            keys = sorted(client.scan_iter("preceptor:rate:*"))
            assert len(keys) == 2
            assert all(0 < client.ttl(key) <= rate_limits.COUNTER_TTL_SECONDS for key in keys)
            client.incrby(next(key for key in keys if "agent" in key), 2)
        assert bot.get("notes/").status == 429
    finally:
        valkey.stop()
    began = time.monotonic()
    assert bot.get("notes/").headers["RateLimit"].startswith('"asker";r=2')
    assert rate_limits._local_counts.away_until > time.monotonic()
    assert time.monotonic() - began < 5
