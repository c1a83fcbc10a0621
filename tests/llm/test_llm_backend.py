"""The backend through the real SDK, over loopback, against the stand-in model."""

import json
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from typing import get_args

import anthropic
import pytest

from apps.llm.anthropic.sync_client import AnthropicBackend
from apps.llm.model_backend import (
    BackendError,
    BadRequest,
    ConnectionLost,
    ErrorOwner,
    Json,
    JsonObject,
    MalformedReply,
    MessageMark,
    ModelRequest,
    NotAuthorised,
    Overloaded,
    RateLimited,
    ServerFault,
    SpendLimitReached,
    StopReason,
    SystemBlock,
    TimedOut,
    ToolDefinition,
    UnknownStopReason,
    Usage,
)
from apps.standin.thread_server import run_standin_thread
from tests.support.timeouts import PATIENCE_SECONDS

pytestmark = pytest.mark.pure

GET_SKILL = ToolDefinition(
    "get_skill",
    "Read a runbook.",
    {"type": "object", "properties": {"skill_id": {"type": "integer"}}, "required": ["skill_id"]},
)
SKILLS = "# Skills\n\n- change-delivery (id: 12) — When a customer asks to change the delivery of an order"
HELLO = ModelRequest("claude-opus-5-5", 300, (), ({"role": "user", "content": "Hello"},), timeout_seconds=10)


@pytest.fixture(scope="module")
def base_url() -> Iterator[str]:
    with run_standin_thread() as url:
        yield url


@pytest.fixture
def backend(base_url: str) -> Iterator[AnthropicBackend]:
    post(base_url, "/standin/script", [])
    backend = AnthropicBackend("a-key", base_url=base_url)
    yield backend
    backend.close()


def post(base_url: str, path: str, content: Json) -> None:
    with urllib.request.urlopen(f"{base_url}{path}", data=json.dumps(content).encode(), timeout=PATIENCE_SECONDS):  # noqa: S310
        pass


def last_request(base_url: str) -> JsonObject:
    with urllib.request.urlopen(f"{base_url}/standin/requests", timeout=PATIENCE_SECONDS) as answer:  # noqa: S310
        body: JsonObject = json.loads(json.load(answer)[-1]["body"])
    return body


def test_text_comes_back_with_usage_and_the_label_of_the_stand_in(backend: AnthropicBackend) -> None:
    reply = backend.complete(HELLO)
    assert reply.text == "Hello. How can I help you?"
    assert reply.blocks == ({"type": "text", "text": reply.text},)
    assert (reply.model, reply.stop_reason, reply.is_stand_in) == ("claude-opus-5-5", StopReason.END_TURN, True)
    assert reply.message_id.startswith("msg_")
    assert reply.usage == Usage(input_tokens=2, output_tokens=7)


def test_tool_loop_goes_round_with_the_blocks_as_they_came(backend: AnthropicBackend) -> None:
    wish: JsonObject = {"role": "user", "content": "Please change the delivery of my order"}
    asked = replace(HELLO, system=(SystemBlock(SKILLS),), tools=(GET_SKILL,), messages=(wish,))
    reply = backend.complete(asked)
    assert (reply.stop_reason, reply.text) == (StopReason.TOOL_USE, "")
    (use,) = reply.tool_uses
    assert (use.name, use.arguments) == ("get_skill", {"skill_id": 12})
    result: Json = {
        "type": "tool_result",
        "tool_use_id": use.tool_use_id,
        "content": '{"name": "x", "body": "1. Ask why."}',
    }
    answer = backend.complete(
        replace(
            asked,
            messages=(
                wish,
                {"role": "assistant", "content": list(reply.blocks)},
                {"role": "user", "content": [result]},
            ),
        )
    )
    assert "Following our runbook “x”: ask why." in answer.text


def test_cache_is_written_and_then_read_as_the_conversation_grows(
    backend: AnthropicBackend,
) -> None:  # R181, R183, R185
    shared = SystemBlock("The contract. " * 400, cache="1h")
    personal = SystemBlock("The profile. " * 100, cache="5m")
    messages: tuple[JsonObject, ...] = ({"role": "user", "content": "First question"},)
    usages = []
    for question in ("Second question", "Third question", "Fourth question"):
        reply = backend.complete(
            replace(
                HELLO,
                system=(shared, personal),
                messages=messages,
                message_marks=(MessageMark(len(messages) - 1, 0, "5m"),),
            )
        )
        usages.append(reply.usage)
        answered: JsonObject = {"role": "assistant", "content": list(reply.blocks)}
        messages = (*messages, answered, {"role": "user", "content": question})
    first, second, third = usages
    assert (first.cache_read_tokens, first.cache_write_1h_tokens, first.input_tokens) == (0, 1400, 0)
    assert first.cache_write_5m_tokens == 325 + 4
    assert second.cache_read_tokens == 1400 + 325 + 4
    assert third.cache_read_tokens == second.cache_read_tokens + second.cache_write_5m_tokens
    assert (third.cache_write_1h_tokens, third.input_tokens) == (0, 0)


def test_moving_breakpoint_leaves_the_callers_messages_alone(backend: AnthropicBackend, base_url: str) -> None:
    block: JsonObject = {"type": "text", "text": "Hello"}
    message: JsonObject = {"role": "user", "content": [block]}
    backend.complete(replace(HELLO, messages=(message,), message_marks=(MessageMark(0, 0, "5m"),)))
    assert block == {"type": "text", "text": "Hello"}
    sent = last_request(base_url)["messages"]
    assert sent == [{"role": "user", "content": [block | {"cache_control": {"type": "ephemeral", "ttl": "5m"}}]}]


def test_marks_stand_where_the_request_says(backend: AnthropicBackend, base_url: str) -> None:
    messages: tuple[JsonObject, ...] = (
        {"role": "user", "content": "A question"},
        {"role": "assistant", "content": [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]},
        {"role": "user", "content": "Another"},
    )
    marks = (MessageMark(0, 0, "1h"), MessageMark(1, 1, "5m"))
    tools = (replace(GET_SKILL, cache="1h"),)
    backend.complete(replace(HELLO, tools=tools, messages=messages, message_marks=marks))
    sent = last_request(base_url)
    hour, minutes = ({"cache_control": {"type": "ephemeral", "ttl": lifetime}} for lifetime in ("1h", "5m"))
    assert sent["tools"] == [GET_SKILL.wire | hour]
    assert sent["messages"] == [
        {"role": "user", "content": [{"type": "text", "text": "A question"} | hour]},
        {"role": "assistant", "content": [{"type": "text", "text": "one"}, {"type": "text", "text": "two"} | minutes]},
        {"role": "user", "content": "Another"},
    ]
    assert messages[0]["content"] == "A question"


@pytest.mark.parametrize(
    ("marks", "sentence"),
    [
        ((MessageMark(1, 0, "5m"),), "message 1, but there are only 1 messages"),
        ((MessageMark(-1, 0, "5m"),), "message -1"),
        ((MessageMark(0, 1, "5m"),), "Block 1 of message 0"),
        ((MessageMark(0, -1, "5m"),), "Block -1 of message 0"),
        ((MessageMark(0, 0, "5m"), MessageMark(0, 0, "5m")), "carries two"),
    ],
)
def test_mark_that_points_at_nothing_is_refused_before_anything_is_sent(
    backend: AnthropicBackend, marks: tuple[MessageMark, ...], sentence: str
) -> None:
    with pytest.raises(BadRequest, match=sentence):
        backend.complete(replace(HELLO, message_marks=marks))


def test_effort_and_schema_travel_as_output_config_and_nothing_sets_a_temperature(
    backend: AnthropicBackend, base_url: str
) -> None:
    schema: JsonObject = {"type": "object", "properties": {}, "additionalProperties": False}
    system = (SystemBlock("# Skill extraction\n\nRead."),)
    reply = backend.complete(replace(HELLO, system=system, effort="low", output_schema=schema))
    assert json.loads(reply.text) == {"skill": None}
    sent = last_request(base_url)
    assert sent["output_config"] == {"effort": "low", "format": {"type": "json_schema", "schema": schema}}
    assert set(sent) == {"model", "max_tokens", "messages", "system", "output_config"}


def test_two_breakpoints_of_the_system_prompt_are_sent(backend: AnthropicBackend, base_url: str) -> None:
    backend.complete(replace(HELLO, system=(SystemBlock("a", "1h"), SystemBlock("b"), SystemBlock("c", "5m"))))
    assert last_request(base_url)["system"] == [
        {"type": "text", "text": "a", "cache_control": {"type": "ephemeral", "ttl": "1h"}},
        {"type": "text", "text": "b"},
        {"type": "text", "text": "c", "cache_control": {"type": "ephemeral", "ttl": "5m"}},
    ]


@pytest.mark.parametrize(
    ("step", "error", "retry_after", "who_acts"),
    [
        ({"fault": "overloaded"}, Overloaded, None, ErrorOwner.NOBODY),
        ({"fault": "rate_limited", "seconds": 7}, RateLimited, 7.0, ErrorOwner.NOBODY),
        ({"fault": "server_error"}, ServerFault, None, ErrorOwner.NOBODY),
        ({"fault": "spend_limit"}, SpendLimitReached, None, ErrorOwner.OPERATOR),
        ({"fault": "cut_stream"}, ConnectionLost, None, ErrorOwner.NOBODY),
        ({"fault": "malformed"}, MalformedReply, None, ErrorOwner.NOBODY),
        ({"fault": "timeout", "seconds": 0.01}, TimedOut, None, ErrorOwner.NOBODY),
        ({"fault": "timeout", "seconds": 20}, TimedOut, None, ErrorOwner.NOBODY),
    ],
)
def test_fault_becomes_an_error_that_says_who_must_act(
    backend: AnthropicBackend,
    base_url: str,
    step: JsonObject,
    error: type[BackendError],
    *,
    retry_after: float | None,
    who_acts: ErrorOwner,
) -> None:
    post(base_url, "/standin/script", [step])
    with pytest.raises(error) as caught:
        backend.complete(replace(HELLO, timeout_seconds=0.5))
    assert type(caught.value) is error
    assert (caught.value.retry_after_seconds, caught.value.who_acts) == (retry_after, who_acts)
    assert caught.value.is_worth_retrying is (who_acts is ErrorOwner.NOBODY)
    assert backend.complete(HELLO).stop_reason is StopReason.END_TURN


def test_arguments_of_a_tool_arrive_as_json(backend: AnthropicBackend, base_url: str) -> None:
    arguments: JsonObject = {"tags": ["a", {"b": None}], "count": 1.5, "on": True}
    post(base_url, "/standin/script", [{"tool": {"name": "x", "arguments": arguments}}])
    (use,) = backend.complete(HELLO).tool_uses
    assert use.arguments == arguments


def test_messages_that_are_missing_are_left_to_the_api(backend: AnthropicBackend) -> None:
    with pytest.raises(BadRequest, match="at least one message"):
        backend.complete(replace(HELLO, messages=()))


def test_backend_itself_never_retries(backend: AnthropicBackend, base_url: str) -> None:
    post(base_url, "/standin/script", [{"fault": "overloaded"}, {"reply": {"text": "second"}}])
    with pytest.raises(Overloaded):
        backend.complete(HELLO)
    assert backend.complete(HELLO).text == "second"


@pytest.mark.parametrize("reason", list(StopReason))
def test_every_documented_stop_reason_is_known(backend: AnthropicBackend, base_url: str, reason: StopReason) -> None:
    post(base_url, "/standin/script", [{"reply": {"text": "Well.", "stop_reason": reason}}])
    assert backend.complete(HELLO).stop_reason is reason


def test_stop_reasons_are_those_of_the_installed_sdk() -> None:
    assert set(StopReason) == set(get_args(anthropic.types.StopReason))


def test_unknown_stop_reason_is_refused(backend: AnthropicBackend, base_url: str) -> None:
    post(base_url, "/standin/script", [{"reply": {"text": "Well.", "stop_reason": "bored"}}])
    with pytest.raises(UnknownStopReason, match="bored") as caught:
        backend.complete(HELLO)
    assert caught.value.who_acts is ErrorOwner.DEVELOPER


def test_refused_request_is_ours_to_repair(backend: AnthropicBackend) -> None:
    with pytest.raises(BadRequest, match="first message must use the user role"):
        backend.complete(replace(HELLO, messages=({"role": "assistant", "content": "Hi"}, *HELLO.messages)))


def test_missing_key_is_said_before_anything_is_sent() -> None:
    with pytest.raises(NotAuthorised, match="Set ANTHROPIC_API_KEY"):
        AnthropicBackend("")


def test_nobody_listening_is_a_lost_connection() -> None:
    with run_standin_thread() as gone:
        pass
    backend = AnthropicBackend("a-key", base_url=gone)
    with pytest.raises(ConnectionLost):
        backend.complete(HELLO)
    backend.close()


def test_error_codes_are_distinct() -> None:
    family = BackendError.__subclasses__()
    assert len({error.code for error in family}) == len(family)
