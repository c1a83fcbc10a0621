"""The asynchronous backend through the real SDK and aiohttp, over loopback, against the stand-in model."""

import asyncio
from dataclasses import replace

import pytest

from apps.llm.anthropic.async_client import STREAM_ABOVE_TOKENS, async_backend_at
from apps.llm.anthropic.sync_client import AnthropicBackend
from apps.llm.model_backend import (
    AsyncBackend,
    BackendError,
    ConnectionLost,
    Json,
    JsonObject,
    Listener,
    MalformedReply,
    ModelReply,
    NotAuthorised,
    Overloaded,
    RateLimited,
    ServerFault,
    SpendLimitReached,
    StopReason,
    SystemBlock,
    TimedOut,
    UnknownStopReason,
)
from apps.standin.thread_server import run_standin_thread
from tests.support.drivers.async_backend import HELLO, ask_backend, silent, within_loop
from tests.support.drivers.standin_http import call_standin, requests_of
from tests.support.timeouts import PATIENCE_SECONDS

pytestmark = pytest.mark.pure

ARGUMENTS: JsonObject = {"tags": ["a", {"b": None}], "count": 1.5, "on": True, "body": "Longer than one delta."}


@pytest.mark.parametrize("listener", [None, silent])
@pytest.mark.parametrize(
    "step",
    [
        {"pass": True},
        {"reply": {"text": "Grüezi. " * 20}},
        {"reply": {"text": "Cut", "stop_reason": "max_tokens"}},
        {"tool": {"name": "update_memory", "arguments": ARGUMENTS}},
        {"tool": {"name": "list_skills", "arguments": {}}},
    ],
)
def test_reply_is_the_same_whichever_way_it_was_asked_for(
    base_url: str, step: JsonObject, listener: Listener | None
) -> None:
    request = replace(HELLO, system=(SystemBlock("The contract. " * 400, "1h"),))
    sync = AnthropicBackend("a-key", base_url=base_url)
    ask_backend(base_url, request)
    call_standin(base_url, "POST", "/standin/script", [step, step])
    expected, reply = sync.complete(request), ask_backend(base_url, request, listener)
    sync.close()
    assert replace(reply, message_id="", blocks=(), tool_uses=()) == replace(
        expected, message_id="", blocks=(), tool_uses=()
    )
    assert reply.usage.cache_read_tokens == 1400
    assert [without_id(block) for block in reply.blocks] == [without_id(block) for block in expected.blocks]
    assert [use.arguments for use in reply.tool_uses] == [use.arguments for use in expected.tool_uses]


def without_id(block: JsonObject) -> JsonObject:
    return {key: value for key, value in block.items() if key != "id"}


def test_listener_hears_the_text_as_it_comes(base_url: str) -> None:
    heard: list[str] = []
    reply = ask_backend(base_url, HELLO, heard.append)
    assert len(heard) > 1
    assert "".join(heard) == reply.text == "Hello. How can I help you?"


def test_long_answers_are_streamed_although_nobody_listens(base_url: str) -> None:
    for allowed in (STREAM_ABOVE_TOKENS, STREAM_ABOVE_TOKENS + 1):
        ask_backend(base_url, replace(HELLO, max_tokens=allowed))
    assert [body.get("stream", False) for body in requests_of(base_url)] == [False, True]


FAULTS: list[tuple[JsonObject, type[BackendError], float | None]] = [
    ({"fault": "overloaded"}, Overloaded, None),
    ({"fault": "overloaded", "seconds": 4}, Overloaded, 4.0),
    ({"fault": "rate_limited", "seconds": 7}, RateLimited, 7.0),
    ({"fault": "server_error"}, ServerFault, None),
    ({"fault": "spend_limit"}, SpendLimitReached, None),
    ({"fault": "cut_stream"}, ConnectionLost, None),
    ({"fault": "malformed"}, MalformedReply, None),
    ({"fault": "stream_error"}, Overloaded, None),
    ({"fault": "timeout", "seconds": 0.01}, TimedOut, None),
    ({"fault": "timeout"}, TimedOut, None),
    ({"fault": "slow_start"}, TimedOut, None),
    ({"fault": "stall", "seconds": 0.05}, ConnectionLost, None),
    ({"fault": "stall"}, TimedOut, None),
]


@pytest.mark.parametrize("listener", [None, silent])
@pytest.mark.parametrize(("step", "error", "wait"), FAULTS)
def test_fault_becomes_a_typed_error_and_the_next_call_succeeds(
    base_url: str, step: Json, error: type[BackendError], listener: Listener | None, *, wait: float | None
) -> None:
    call_standin(base_url, "POST", "/standin/script", [step])
    # Only who waits for the end of the time needs it short: on a busy machine it was over before anything was asked.
    seconds = 1 if error is TimedOut else PATIENCE_SECONDS

    async def twice(backend: AsyncBackend) -> tuple[BackendError, ModelReply]:
        with pytest.raises(BackendError) as caught:
            await backend.complete(replace(HELLO, timeout_seconds=seconds), listener)
        return caught.value, await backend.complete(HELLO, listener)

    refusal, reply = within_loop(base_url, twice)
    assert type(refusal) is error
    assert refusal.retry_after_seconds == wait
    assert reply.text == "Hello. How can I help you?"


def test_backend_itself_never_retries(base_url: str) -> None:
    call_standin(base_url, "POST", "/standin/script", [{"fault": "server_error"}, {"reply": {"text": "second"}}])
    with pytest.raises(ServerFault):
        ask_backend(base_url)
    assert ask_backend(base_url).text == "second"


@pytest.mark.parametrize("listener", [None, silent])
@pytest.mark.parametrize("reason", list(StopReason))
def test_every_documented_stop_reason_is_known(base_url: str, reason: StopReason, listener: Listener | None) -> None:
    call_standin(base_url, "POST", "/standin/script", [{"reply": {"text": "Well.", "stop_reason": reason}}])
    assert ask_backend(base_url, HELLO, listener).stop_reason is reason


def test_unknown_stop_reason_is_refused(base_url: str) -> None:
    call_standin(base_url, "POST", "/standin/script", [{"reply": {"text": "Well.", "stop_reason": "bored"}}])
    with pytest.raises(UnknownStopReason, match="bored"):
        ask_backend(base_url, HELLO, silent)


@pytest.mark.parametrize("listener", [None, silent])
def test_calls_say_nothing_of_the_machine_they_come_from(listener: Listener | None) -> None:
    heads: list[str] = []

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append((await reader.readuntil(b"\r\n\r\n")).decode().lower())
        writer.write(b"HTTP/1.1 503 Busy\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        await writer.drain()
        writer.close()

    async def ask_once() -> None:
        async with await asyncio.start_server(refuse, "127.0.0.1", 0) as server:
            host, port = server.sockets[0].getsockname()
            backend = async_backend_at("a-key", f"http://{host}:{port}", connections=1)
            with pytest.raises(BackendError):
                await backend.complete(HELLO, listener)
            await backend.aclose()

    asyncio.run(ask_once())
    [head] = heads
    assert "anthropic-version" in head
    assert [
        word
        for word in ("os", "arch", "runtime", "lang", "package", "async", "timeout", "read")
        if f"x-stainless-{word}" in head
    ] == []


def test_missing_key_is_said_before_anything_is_sent() -> None:
    with pytest.raises(NotAuthorised, match="Set ANTHROPIC_API_KEY"):
        async_backend_at("", "", connections=1)


def test_endpoint_of_ones_own_wants_no_key(base_url: str) -> None:
    async def hello() -> ModelReply:
        backend = async_backend_at("", base_url, connections=1)
        try:
            return await backend.complete(HELLO)
        finally:
            await backend.aclose()

    assert asyncio.run(hello()).is_stand_in


def test_nobody_listening_is_a_lost_connection() -> None:
    with run_standin_thread() as gone:
        pass
    for listener in (None, silent):
        with pytest.raises(ConnectionLost):
            ask_backend(gone, HELLO, listener)
