"""The asynchronous backend before endpoints that stream what the stand-in never would."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from apps.llm.anthropic.async_client import async_backend_at
from apps.llm.model_backend import (
    BackendError,
    BadRequest,
    ConnectionLost,
    JsonObject,
    Listener,
    MalformedReply,
    ModelReply,
    ModelRequest,
    NotAuthorised,
    Overloaded,
    RateLimited,
    ServerFault,
    SpendLimitReached,
    TimedOut,
    Usage,
)

pytestmark = pytest.mark.pure

HELLO = ModelRequest("claude-opus-5-5", 300, (), ({"role": "user", "content": "Hello"},), timeout_seconds=10)
STARTED: JsonObject = {
    "type": "message_start",
    "message": {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 3, "output_tokens": 1},
    },
}
TEXT: JsonObject = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
WORD_DELTA: JsonObject = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Well."}}
TOOL: JsonObject = {
    "type": "content_block_start",
    "index": 0,
    "content_block": {"type": "tool_use", "id": "t", "name": "x", "input": {}},
}
BROKEN_JSON_DELTA: JsonObject = {
    "type": "content_block_delta",
    "index": 0,
    "delta": {"type": "input_json_delta", "partial_json": "}"},
}
MESSAGE_DELTA: JsonObject = {
    "type": "message_delta",
    "delta": {"stop_reason": "end_turn"},
    "usage": {"output_tokens": 2},
}
DELTA_WITHOUT_REASON: JsonObject = {
    "type": "message_delta",
    "delta": {"stop_reason": None},
    "usage": {"output_tokens": 2},
}
MESSAGE_STOP: JsonObject = {"type": "message_stop"}

StreamWriterStep = Callable[[asyncio.StreamWriter], Coroutine[Any, Any, None]]


def sse(*events: JsonObject) -> bytes:
    return b"".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events)


def error_of(kind: str, **error: str) -> JsonObject:
    return {"type": "error", "error": {"type": kind, "message": "Sorry.", **error}}


@asynccontextmanager
async def endpoint(speak: StreamWriterStep) -> AsyncIterator[str]:
    """A server that says this to every request and hangs up."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        await reader.readexactly(int(head.split("content-length: ")[1].split("\r\n")[0]))
        try:
            await speak(writer)
        except ConnectionError:
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()


def stream_of(body: bytes, *, headers: str = "", content_type: str = "text/event-stream") -> StreamWriterStep:
    async def speak(writer: asyncio.StreamWriter) -> None:
        writer.write(f"HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\nconnection: close\r\n{headers}\r\n".encode())
        writer.write(body)
        await writer.drain()

    return speak


def ask_endpoint(
    speak: StreamWriterStep, request: ModelRequest = HELLO, listener: Listener | None = lambda _: None
) -> ModelReply:
    async def _ask() -> ModelReply:
        async with endpoint(speak) as url:
            backend = async_backend_at("a-key", url, connections=2)
            try:
                return await backend.complete(request, listener)
            finally:
                await backend.aclose()

    return asyncio.run(_ask())


def test_stream_of_another_endpoint_is_read_whole() -> None:
    heard: list[str] = []
    unknown: JsonObject = {"type": "surprise", "surprise": 1}
    reply = ask_endpoint(
        stream_of(sse(STARTED, {"type": "ping"}, TEXT, unknown, WORD_DELTA, MESSAGE_DELTA, MESSAGE_STOP)),
        listener=heard.append,
    )
    assert (reply.text, heard, reply.is_stand_in) == ("Well.", ["Well."], False)
    assert reply.usage == Usage(input_tokens=3, output_tokens=2)


def test_answer_is_whole_with_its_last_word_however_long_the_endpoint_holds_the_line() -> None:
    async def linger(writer: asyncio.StreamWriter) -> None:
        await stream_of(sse(STARTED, TEXT, WORD_DELTA, MESSAGE_DELTA, MESSAGE_STOP))(writer)
        await asyncio.sleep(5)

    assert ask_endpoint(linger, replace(HELLO, timeout_seconds=4)).text == "Well."


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (error_of("overloaded_error"), Overloaded),
        (error_of("rate_limit_error"), RateLimited),
        (error_of("api_error"), ServerFault),
        (error_of("timeout_error"), TimedOut),
        (error_of("billing_error"), SpendLimitReached),
        (error_of("authentication_error"), NotAuthorised),
        (error_of("permission_error"), NotAuthorised),
        (error_of("invalid_request_error"), BadRequest),
        (error_of("boredom_error"), ServerFault),
        ({"type": "error"}, ServerFault),
    ],
)
def test_error_inside_a_stream_is_told_by_its_type(error: JsonObject, kind: type[BackendError]) -> None:
    with pytest.raises(BackendError) as caught:
        ask_endpoint(stream_of(sse(STARTED, TEXT, WORD_DELTA, error)))
    assert type(caught.value) is kind


def test_error_inside_a_stream_that_is_no_json_is_the_providers_fault() -> None:
    with pytest.raises(ServerFault):
        ask_endpoint(stream_of(sse(STARTED) + b"event: error\ndata: <html>\n\n"))


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"", ConnectionLost),
        (sse(STARTED, TEXT, WORD_DELTA), ConnectionLost),
        (sse(STARTED, TEXT, WORD_DELTA, MESSAGE_DELTA), ConnectionLost),
        (sse(STARTED, TEXT, WORD_DELTA, DELTA_WITHOUT_REASON, MESSAGE_STOP), MalformedReply),
        (sse(MESSAGE_STOP), MalformedReply),
        (sse(STARTED, WORD_DELTA), MalformedReply),
        (sse(STARTED, TOOL, BROKEN_JSON_DELTA), MalformedReply),
        (sse(STARTED | {"message": {"id": "msg_1"}}, TEXT), MalformedReply),
        (sse(STARTED | {"message": None}), MalformedReply),
        (b"event: message_start\ndata: {\n\n", MalformedReply),
        (b"event: message_start\ndata: [1]\n\n", MalformedReply),
        (b"event: message_start\ndata: \xff\n\n", MalformedReply),
    ],
)
def test_a_stream_without_message_differs_from_a_broken_stream(body: bytes, kind: type[BackendError]) -> None:
    with pytest.raises(BackendError) as caught:
        ask_endpoint(stream_of(body))
    assert type(caught.value) is kind


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"{", MalformedReply),
        (b"[" * 100_000, MalformedReply),
        (b"\xff", MalformedReply),
        (b"[]", MalformedReply),
        (b'{"id": "m", "model": "m", "content": null, "stop_reason": "end_turn", "usage": {}}', MalformedReply),
        (b'{"id": "m", "model": "m", "content": [], "stop_reason": null, "usage": {}}', MalformedReply),
        (b'{"id": "m", "model": "m", "content": [], "stop_reason": "end_turn", "usage": null}', MalformedReply),
    ],
)
def test_whole_answer_that_is_no_message_is_malformed(body: bytes, kind: type[BackendError]) -> None:
    with pytest.raises(kind):
        ask_endpoint(stream_of(body, content_type="application/json"), listener=None)


@pytest.mark.parametrize("listener", [None, lambda _: None])
@pytest.mark.parametrize(
    ("headers", "kind"),
    [
        ("content-length: 100000\r\n", ConnectionLost),
        ("transfer-encoding: chunked\r\n", ConnectionLost),
        ("content-encoding: gzip\r\n", BackendError),
    ],
)
def test_answer_shorter_or_other_than_announced_is_no_reply(
    headers: str, kind: type[BackendError], listener: Listener | None
) -> None:
    with pytest.raises(kind) as caught:
        ask_endpoint(stream_of(sse(STARTED, TEXT, WORD_DELTA), headers=headers), listener=listener)
    assert caught.value.is_worth_retrying


@pytest.mark.parametrize("listener", [None, lambda _: None])
def test_answer_that_drips_ends_with_the_time_the_request_allows(listener: Listener | None) -> None:
    async def drip(writer: asyncio.StreamWriter) -> None:
        await stream_of(sse(STARTED))(writer)
        while True:
            writer.write(sse({"type": "ping"}))
            await writer.drain()
            await asyncio.sleep(0.05)

    with pytest.raises(TimedOut):
        ask_endpoint(drip, replace(HELLO, timeout_seconds=0.5), listener)


@pytest.mark.parametrize("listener", [None, lambda _: None])
def test_half_of_a_character_in_a_request_is_ours_to_repair(listener: Listener | None) -> None:
    with pytest.raises(BadRequest, match="half of a character"):
        ask_endpoint(stream_of(b""), replace(HELLO, messages=({"role": "user", "content": "\ud800"},)), listener)
