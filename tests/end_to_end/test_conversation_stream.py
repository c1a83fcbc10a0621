"""A conversation followed over HTTP while a worker in another process answers, with the broker and without it."""

import http.client
import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
import redis

from apps.conversations.models import Message
from apps.demo.http_client import HttpVisitor
from apps.governance.database.actor_transaction import acting_as
from apps.runtime.models import Turn
from tests.support.servers.running_product import RunningProduct, fetch
from tests.support.worlds.world import World, make_persona, make_world

pytestmark = [pytest.mark.slow, pytest.mark.unmeasured]

FINISHED_SECONDS = 60
StreamEvent = tuple[str, str, dict[str, Any]]


@contextmanager
def follow_stream(
    product: RunningProduct, world: World, conversation_id: int, last: str = ""
) -> Iterator[Iterator[StreamEvent]]:
    connection = http.client.HTTPConnection(product.url.removeprefix("http://"), timeout=FINISHED_SECONDS)
    headers = {"Authorization": f"Bearer {world.token}", **({"Last-Event-ID": last} if last else {})}
    connection.request("GET", f"/api/v1/conversations/{conversation_id}/stream/", headers=headers)
    answer = connection.getresponse()
    try:
        assert (answer.status, answer.headers["Content-Type"]) == (200, "text/event-stream")
        yield events(answer)
    finally:
        connection.close()


def events(answer: http.client.HTTPResponse) -> Iterator[StreamEvent]:
    fields: dict[str, str] = {}
    while line := answer.readline().decode():
        name, _, value = line.strip().partition(": ")
        if name:
            fields[name] = value
        elif "data" in fields:
            yield fields.get("id", ""), fields["event"], json.loads(fields["data"])
            fields = {}


def read_until_reply(heard: Iterator[StreamEvent]) -> list[StreamEvent]:
    found = []
    for each in heard:
        found.append(each)
        if each[1] == "reply":
            return found
    raise AssertionError(f"no reply came: {found}")


def post(product: RunningProduct, world: World, text: str) -> int:
    body = {"conversation_key": "a", "end_user_key": "http:abc", "text": text, "stream": True}
    taken = HttpVisitor(product.url, world.token).send("POST", "/api/v1/messages/", body, Idempotency_Key=text)
    # 200 where the worker was done before the answer left.
    assert taken.status in {200, 202}, taken.text
    return int(taken.json["conversation_id"])


def test_a_conversation_is_followed_word_by_word_and_to_its_replies_when_the_broker_is_gone(
    own_product: RunningProduct,
) -> None:
    world = make_world()
    make_persona(world)
    own_product.start_web()
    own_product.start_worker()
    own_product.await_ready()
    conversation_id = post(own_product, world, "Hello")
    with follow_stream(own_product, world, conversation_id, last="0-0-0-") as heard:
        first = read_until_reply(heard)[-1]
    with follow_stream(own_product, world, conversation_id) as heard:
        post(own_product, world, "Where is my parcel?")
        stream_events = read_until_reply(heard)
    reply = stream_events[-1][2]["text"]
    pieces = [data["text"] for _, event, data in stream_events if event == "text"]
    assert pieces
    assert all(reply.startswith(piece) for piece in pieces)
    # Whoever was cut off goes on behind what they heard last.
    with follow_stream(own_product, world, conversation_id, last=first[0]) as heard:
        assert read_until_reply(heard)[-1][2] == stream_events[-1][2]
    with suppress(redis.ConnectionError):
        own_product.broker.shutdown(nosave=True)
    with follow_stream(own_product, world, conversation_id) as heard:
        post(own_product, world, "And now?")
        assert read_until_reply(heard)[-1][2]["text"]
    stranger = HttpVisitor(own_product.url, make_world().token).send(
        "GET", f"/api/v1/conversations/{conversation_id}/stream/", None
    )
    assert (stranger.status, stranger.json["code"]) == (404, "not_found")
    nobody = HttpVisitor(own_product.url, "").send("GET", f"/api/v1/conversations/{conversation_id}/stream/", None)
    assert nobody.status == 401


def test_a_stream_shows_a_dead_workers_partial_text_and_then_one_reply(product: RunningProduct) -> None:
    # R126
    world = make_world()
    make_persona(world)
    conversation_id = post(product, world, "Hello")
    with follow_stream(product, world, conversation_id, last="0-0-0-") as heard:
        first = read_until_reply(heard)[-1]
    script = [{"fault": "stall", "seconds": FINISHED_SECONDS}, {"reply": {"text": "It left us on Monday."}}]
    fetch(f"{product.standin_url}/standin/script", json.dumps(script).encode())
    with follow_stream(product, world, conversation_id) as heard:
        post(product, world, "Where is my parcel, which I have been waiting for since Friday?")
        half = next(data["text"] for _, event, data in heard if event == "text" and data["text"])
        product.kill("worker")
        product.start_worker()
        product.await_ready()
        rest = read_until_reply(heard)
        rest.append(next(each for each in heard if each[1] == "turn"))
    assert not "It left us on Monday.".startswith(half)
    assert [data["text"] for _, event, data in rest if event == "reply"] == ["It left us on Monday."]
    # Of the answer that comes in its place every piece begins anew.
    assert all("It left us on Monday.".startswith(data["text"]) for _, event, data in rest if event == "text")
    assert (rest[-1][2]["status"], rest[-1][2]["outcome"]) == ("done", "replied")
    # Whoever was cut off meanwhile is told the same once, and nothing of the half.
    with follow_stream(product, world, conversation_id, last=first[0]) as heard:
        assert read_until_reply(heard)[-1][2] == rest[-2][2]
    with acting_as(world.system):
        turn = Turn.objects.latest("pk")
        assert (turn.attempts, turn.crashes) == (2, 1)
        assert list(Message.objects.filter(turn_id=turn.pk, is_reply=True)) == [turn.reply]
        assert not Message.objects.filter(text=half).exists()
