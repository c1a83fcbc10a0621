"""The stand-in as a server: what the vendor's own client and plain HTTP see of it."""

import json
import urllib.request
from collections.abc import Iterator

import anthropic
import httpx2
import pytest

from apps.llm.model_backend import Json, JsonObject
from apps.standin.http_api.endpoint import ENTRIES_BEFORE_SWEEP, MessagesEndpoint
from apps.standin.requests import ArrivedRequest
from tests.support.drivers.standin_http import HELLO, MODEL, call_standin, usage_of
from tests.support.timeouts import PATIENCE_SECONDS

pytestmark = pytest.mark.pure


@pytest.fixture
def client(base_url: str) -> Iterator[anthropic.Anthropic]:
    with anthropic.Anthropic(api_key="a-key", base_url=base_url, max_retries=0) as client:
        yield client


def refusal(base_url: str, **changes: Json) -> str:
    status, content = call_standin(base_url, "POST", "/v1/messages", HELLO | changes, key="a-key")
    assert status == 400
    assert isinstance(content, dict)
    assert (content["type"], str(content["request_id"])[:4]) == ("error", "req_")
    error = content["error"]
    assert isinstance(error, dict)
    assert error["type"] == "invalid_request_error"
    return str(error["message"])


def test_every_answer_carries_the_label(base_url: str) -> None:
    with urllib.request.urlopen(f"{base_url}/healthz", timeout=PATIENCE_SECONDS) as answer:  # noqa: S310
        assert answer.headers["x-preceptor-stand-in"] == "1"
        assert json.load(answer) == {"status": "ok", "stand_in": True}


def test_streamed_text_is_the_text_of_the_whole_reply(client: anthropic.Anthropic) -> None:
    with client.messages.stream(model=MODEL, max_tokens=100, messages=[{"role": "user", "content": "Hello"}]) as stream:
        pieces = list(stream.text_stream)
        message = stream.get_final_message()
    assert len(pieces) > 1
    assert "".join(pieces) == "Hello. How can I help you?"
    assert (message.stop_reason, message.usage.output_tokens) == ("end_turn", 7)


def test_streamed_tool_call_arrives_whole(client: anthropic.Anthropic, base_url: str) -> None:
    arguments: JsonObject = {"body": "A line that is longer than one delta of the stream.", "count": 3}
    call_standin(base_url, "POST", "/standin/script", [{"tool": {"name": "update_memory", "arguments": arguments}}])
    with client.messages.stream(model=MODEL, max_tokens=100, messages=[{"role": "user", "content": "Hello"}]) as stream:
        message = stream.get_final_message()
    (block,) = message.content
    assert block.type == "tool_use"
    assert (block.name, block.input, message.stop_reason) == ("update_memory", arguments, "tool_use")


@pytest.mark.parametrize(
    ("fault", "error"), [("cut_stream", httpx2.RemoteProtocolError), ("malformed", json.JSONDecodeError)]
)
def test_broken_stream_breaks_for_the_client(
    client: anthropic.Anthropic, base_url: str, fault: str, error: type[Exception]
) -> None:
    call_standin(base_url, "POST", "/standin/script", [{"fault": fault}])
    stream = client.messages.stream(model=MODEL, max_tokens=100, messages=[{"role": "user", "content": "Hello"}])
    with pytest.raises(error), stream as events:
        events.get_final_message()


def test_tokens_are_counted_by_the_fixed_estimator(client: anthropic.Anthropic) -> None:
    count = client.messages.count_tokens(
        model=MODEL, system="x" * 40, messages=[{"role": "user", "content": "ü" * 10}], tools=[]
    )
    assert count.input_tokens == 10 + 5


def test_models_are_listed(client: anthropic.Anthropic) -> None:
    assert MODEL in {model.id for model in client.models.list()}


def test_automatic_caching_marks_the_last_block(client: anthropic.Anthropic) -> None:
    question = "An automatic question. " * 200
    usages = [
        client.messages.create(
            model=MODEL,
            max_tokens=100,
            cache_control={"type": "ephemeral"},
            messages=[{"role": "user", "content": question}],
        ).usage
        for _ in range(2)
    ]
    assert [(usage.cache_creation_input_tokens, usage.cache_read_input_tokens) for usage in usages] == [
        (1150, 0),
        (0, 1150),
    ]


def test_changed_setting_keeps_the_system_prompt_cached_and_nothing_behind_it(base_url: str) -> None:
    system: Json = [{"type": "text", "text": "s" * 4000, "cache_control": {"type": "ephemeral"}}]
    messages: Json = [
        {"role": "user", "content": [{"type": "text", "text": "m" * 400, "cache_control": {"type": "ephemeral"}}]}
    ]
    reads = []
    for effort in ("low", "low", "high"):
        body = HELLO | {"system": system, "messages": messages, "output_config": {"effort": effort}}
        _, message = call_standin(base_url, "POST", "/v1/messages", body, key="settings")
        reads.append(usage_of(message)["cache_read_input_tokens"])
    assert reads == [0, 1100, 1000]


def test_clock_can_be_moved_past_a_lifetime(base_url: str) -> None:
    body = HELLO | {"system": [{"type": "text", "text": "s" * 4000, "cache_control": {"type": "ephemeral"}}]}
    reads = []
    for advance in (0, 200, 200, 301):
        assert call_standin(base_url, "POST", "/standin/clock", {"advance_seconds": advance})[0] == 200
        reads.append(
            usage_of(call_standin(base_url, "POST", "/v1/messages", body, key="clock")[1])["cache_read_input_tokens"]
        )
    assert reads == [0, 1000, 1000, 0]
    assert call_standin(base_url, "POST", "/standin/clock", {"advance_seconds": "soon"})[0] == 400


def test_accounts_do_not_share_a_cache(base_url: str) -> None:
    body = HELLO | {"system": [{"type": "text", "text": "t" * 4000, "cache_control": {"type": "ephemeral"}}]}
    call_standin(base_url, "POST", "/v1/messages", body, key="one")
    _, message = call_standin(base_url, "POST", "/v1/messages", body, key="two")
    assert usage_of(message)["cache_read_input_tokens"] == 0


def test_request_without_tokens_to_write_only_warms_the_cache(base_url: str) -> None:
    body = HELLO | {"system": [{"type": "text", "text": "w" * 4000, "cache_control": {"type": "ephemeral"}}]}
    _, warmed = call_standin(base_url, "POST", "/v1/messages", body | {"max_tokens": 0}, key="warm")
    assert isinstance(warmed, dict)
    assert (warmed["content"], usage_of(warmed)["output_tokens"]) == ([], 0)
    _, message = call_standin(base_url, "POST", "/v1/messages", body, key="warm")
    assert usage_of(message)["cache_read_input_tokens"] == 1000


def test_reply_longer_than_allowed_is_cut(base_url: str) -> None:
    _, message = call_standin(base_url, "POST", "/v1/messages", HELLO | {"max_tokens": 2}, key="a-key")
    assert isinstance(message, dict)
    assert (message["content"], message["stop_reason"]) == ([{"type": "text", "text": "Hello. H"}], "max_tokens")


MARK: JsonObject = {"type": "ephemeral"}
USER: JsonObject = {"role": "user", "content": "Hi"}
TOOL_USE_MESSAGE: JsonObject = {
    "role": "assistant",
    "content": [{"type": "tool_use", "id": "t1", "name": "x", "input": {}}],
}


def result(tool_use_id: str) -> JsonObject:
    return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": tool_use_id, "content": "ok"}]}


def system(*lifetimes: str) -> list[Json]:
    return [{"type": "text", "text": "x", "cache_control": MARK | {"ttl": lifetime}} for lifetime in lifetimes]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"model": None}, "model: Field required"),
        ({"max_tokens": None}, "max_tokens: Field required"),
        ({"max_tokens": -1}, "greater than or equal to 0"),
        ({"messages": []}, "at least one message"),
        ({"messages": "Hi"}, "messages: Input should be a list"),
        ({"messages": ["Hi"]}, "messages.0: Input should be an object"),
        ({"messages": [{"role": "wizard", "content": "Hi"}]}, "messages.0.role"),
        ({"messages": [{"role": "user", "content": ""}, {"role": "user", "content": []}]}, "non-empty content"),
        ({"messages": [{"role": "assistant", "content": "Hi"}, USER]}, "first message must use the user role"),
        ({"messages": [USER, {"role": "assistant", "content": "Hi"}]}, "must end with a user message"),
        ({"messages": [USER, TOOL_USE_MESSAGE, USER]}, "without `tool_result` blocks immediately after: t1"),
        (
            {"messages": [USER, TOOL_USE_MESSAGE, result("t2")]},
            "unexpected `tool_use_id` found in `tool_result` blocks: t2",
        ),
        ({"messages": [result("t1")]}, "unexpected `tool_use_id`"),
        (
            {"system": system("5m", "5m", "5m", "5m", "5m")},
            "maximum of 4 blocks with cache_control may be provided. Found 5",
        ),
        ({"system": system("5m", "5m", "5m", "5m"), "cache_control": MARK}, "Found 5"),
        ({"system": system("5m", "1h")}, "a ttl='1h' block must not come after a ttl='5m' block"),
        ({"system": system("2h")}, "cache_control.ttl"),
        ({"cache_control": {"type": "eternal"}}, "cache_control.type"),
        (
            {
                "cache_control": MARK,
                "messages": [
                    {"role": "user", "content": [{"type": "text", "text": "x", "cache_control": MARK | {"ttl": "1h"}}]}
                ],
            },
            "another ttl",
        ),
    ],
)
def test_request_the_api_refuses_is_refused(base_url: str, changes: JsonObject, sentence: str) -> None:
    assert sentence in refusal(base_url, **changes)


def test_tool_result_may_follow_its_tool_use_with_steering_in_between(base_url: str) -> None:
    steering: JsonObject = {"role": "system", "content": "Be kind."}
    body = HELLO | {"messages": [USER, TOOL_USE_MESSAGE, result("t1"), steering, USER]}
    assert call_standin(base_url, "POST", "/v1/messages", body, key="a-key")[0] == 200


@pytest.mark.parametrize("body", [b"{", b"[]", b"[" * 100_000, b'{"model": "\\ud800"}', b"\xff"])
def test_body_that_is_not_json_is_refused(body: bytes) -> None:
    planned = MessagesEndpoint().plan_message(ArrivedRequest("/v1/messages", {"x-api-key": "k"}, body))
    assert planned.answer.status == 400


@pytest.mark.parametrize(
    ("method", "path"), [("POST", "/v1/messages"), ("POST", "/v1/messages/count_tokens"), ("GET", "/v1/models")]
)
def test_call_without_a_key_is_not_authorised(base_url: str, method: str, path: str) -> None:
    status, content = call_standin(base_url, method, path, HELLO if method == "POST" else None)
    assert status == 401
    assert isinstance(content, dict)
    assert "authentication_error" in json.dumps(content["error"])


def test_other_paths_are_not_found(base_url: str) -> None:
    assert call_standin(base_url, "GET", "/v1/messages")[0] == 404
    assert call_standin(base_url, "POST", "/v1/messages/count_tokens", {}, key="k")[0] == 400


@pytest.mark.slow
def test_prefixes_that_expired_are_forgotten() -> None:
    endpoint = MessagesEndpoint()
    for number in range(ENTRIES_BEFORE_SWEEP + 2):
        endpoint.controls.advance_clock(ArrivedRequest("/standin/clock", {}, b'{"advance_seconds": 1}'))
        body = HELLO | {"system": [{"type": "text", "text": f"{number:<4000}", "cache_control": MARK}]}
        planned = endpoint.plan_message(ArrivedRequest("/v1/messages", {"x-api-key": "k"}, json.dumps(body).encode()))
        assert planned.entries
        endpoint.begin(planned)
    assert endpoint.cached_prefixes < 400


def test_a_request_may_end_with_an_answer_that_was_paused_and_with_no_other(base_url: str) -> None:
    call_standin(base_url, "POST", "/standin/script", [{"reply": {"text": "Wait.", "stop_reason": "pause_turn"}}])
    _, paused = call_standin(base_url, "POST", "/v1/messages", HELLO, key="a-key")
    assert isinstance(paused, dict)
    marked: Json = [{"type": "text", "text": "Wait.", "cache_control": {"type": "ephemeral"}}]
    other: Json = [{"type": "text", "text": "Go."}]
    statuses = []
    for content in (paused["content"], marked, other):
        messages: Json = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": content}]
        statuses.append(call_standin(base_url, "POST", "/v1/messages", HELLO | {"messages": messages}, key="a-key")[0])
    assert statuses == [200, 200, 400]
