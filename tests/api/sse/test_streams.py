"""Who may hold a stream open, and how long; what it tells is proven where it is made."""

import asyncio
from collections.abc import Callable
from http.cookies import SimpleCookie
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import connection
from django.test import AsyncClient, Client
from pytest_django import Settings

from apps.api.sse import hub
from apps.api.sse.shared_polls import MAX_POLL_SECONDS, POLL_SECONDS, next_poll_pause
from apps.api.sse.stream_limits import ProcessStreamLimit, StreamSlots, TenantStreamLimit
from apps.api.sse.subscriber import StreamEndReason, format_end
from apps.governance.database.actor_transaction import outside_tenant
from apps.telemetry.prometheus import REGISTRY
from apps.tenants.actions import issue_token, revoke_token
from apps.tenants.models import User
from tests.support.drivers.rest_client import RestClient, bearer
from tests.support.worlds.world import World, make_conversation, make_world

STREAM = "conversations/1/stream/"
REVIEW = "review/stream/"
# Headers and cookies somebody comes with, and what takes from them what they came by.
Credentials = tuple[dict[str, str], SimpleCookie, Callable[[], object]]


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "HEAD"])
@pytest.mark.parametrize("address", [STREAM, REVIEW])
def test_a_stream_is_only_read(db: None, address: str, method: str) -> None:
    answer = RestClient(Client(enforce_csrf_checks=True)).ask(method, address)
    assert (answer.status, answer.headers["Allow"]) == (405, "GET")
    assert answer.headers["Content-Type"] == "application/problem+json"


@pytest.mark.parametrize("event_id", ["1", "1-2-3", "-1-0-0-", "a-1-1-done"])
def test_a_place_that_is_none_is_refused_and_not_taken_for_now(db: None, event_id: str) -> None:
    answer = bearer("pcp_x").get(STREAM, Last_Event_ID=event_id)
    assert (answer.status, answer.code, list(answer.body["errors"])) == (400, "invalid", ["Last-Event-ID"])


def test_a_process_has_so_many_seats_and_a_tenant_so_many_of_them(settings: Settings) -> None:
    settings.STREAMS_PER_PROCESS, settings.STREAMS_PER_TENANT = 3, 2
    slots = StreamSlots()
    first, second = slots.take(1), slots.take(1)
    with pytest.raises(TenantStreamLimit) as refusal:
        slots.take(1)
    assert (refusal.value.status_code, refusal.value.get_codes()) == (429, "too_many_streams")
    third = slots.take(2)
    with pytest.raises(ProcessStreamLimit) as refusal:
        slots.take(3)
    assert refusal.value.status_code == 503
    slots.leave(first)
    del second
    assert [slots.take(1).tenant_id, third.tenant_id] == [1, 2]


def test_looks_grow_rare_and_stay_so() -> None:
    pauses = [POLL_SECONDS]
    for _ in range(8):
        pauses.append(next_poll_pause(pauses[-1]))
    assert pauses == sorted(pauses)
    assert pauses[-1] == pauses[-2] == MAX_POLL_SECONDS


def token_credentials(world: World) -> Credentials:
    issued = issue_token(world.agent, actor=world.admin, name="second")
    return (
        {"Authorization": f"Bearer {issued.secret}"},
        SimpleCookie(),
        lambda: revoke_token(issued.row, actor=world.admin),
    )


def session_credentials(world: World) -> Credentials:
    client = Client()
    client.force_login(world.operator_user)

    def leave() -> None:
        with outside_tenant():
            User.objects.filter(pk=world.operator_user.pk).update(is_active=False)

    return {}, client.cookies, leave


@pytest.mark.slow
@pytest.mark.parametrize("coming", [token_credentials, session_credentials])
def test_who_may_hear_no_more_hears_no_more(
    committing: str,
    monkeypatch: pytest.MonkeyPatch,
    settings: Settings,
    coming: Callable[[World], Credentials],
) -> None:
    monkeypatch.setattr(hub, "REAUTHENTICATE_SECONDS", 3600.0)
    settings.STREAMS_PER_TENANT = 1
    world = make_world()
    address = f"/api/v1/conversations/{make_conversation(world).pk}/stream/"
    headers, cookies, go = coming(world)

    def gone() -> None:
        go()
        connection.close()

    async def follow() -> list[bytes]:
        client = AsyncClient()
        client.cookies = cookies
        answer: Any = await client.get(address, headers=headers)  # a stream; the stubs know none
        assert answer.status_code == 200
        pieces = aiter(answer.streaming_content)
        first = await anext(pieces)
        assert open_stream_count() == 1
        full: Any = await client.get(address, headers=headers)
        assert (full.status_code, full.headers["Retry-After"]) == (429, "10")
        await sync_to_async(gone)()
        return [first, *[piece async for piece in pieces]]

    began, end = asyncio.run(asyncio.wait_for(follow(), 30))
    assert (began, end) == (b"retry: 1000\n\n", format_end(StreamEndReason.ACCESS_LOST))
    assert hub.stream_slots.take(world.tenant.pk).tenant_id == world.tenant.pk
    assert open_stream_count() == 0


def open_stream_count() -> float | None:
    return REGISTRY.get_sample_value("preceptor_streams")
