"""Chat transcripts of other systems are read line by line: kept whole, or refused with a reason."""

import hashlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.conversations.rules import ConversationLine, ToolCall
from apps.conversations.transcript_parsing import (
    LINE_BYTES,
    MOST_MESSAGES,
    TEXT_CHARACTERS,
    ImportedTranscript,
    MalformedTranscript,
    parse_line,
)

pytestmark = pytest.mark.pure

CUSTOMER_MESSAGE = {"role": "user", "content": "Where is my parcel?"}
CALL = {"id": "call-1", "type": "function", "function": {"name": "find_parcel", "arguments": '{"number": 7}'}}
CALL_MESSAGE = {"role": "assistant", "content": None, "tool_calls": [CALL]}
TOOL_RESULT = {"role": "tool", "tool_call_id": "call-1", "content": "In the van."}


def parse_messages(*messages: Any, **given: Any) -> ImportedTranscript | MalformedTranscript:
    return parse_line(json.dumps({"id": "t-1", "messages": list(messages)} | given).encode())


def transcript(*messages: Any, **given: Any) -> ImportedTranscript:
    found = parse_messages(*messages, **given)
    assert isinstance(found, ImportedTranscript), found
    return found


def reasons(*messages: Any, **given: Any) -> str:
    found = parse_messages(*messages, **given)
    assert isinstance(found, MalformedTranscript), found
    return " ".join(found.reasons)


def test_openai_style_keeps_each_tool_call_with_what_came_back() -> None:
    answer_message = {"role": "assistant", "content": [{"type": "text", "text": "It is in the van."}]}
    found = transcript(
        {"role": "system", "content": "Be kind."}, CUSTOMER_MESSAGE, CALL_MESSAGE, TOOL_RESULT, answer_message
    )
    assert found.lines == (
        ConversationLine("customer", "Where is my parcel?"),
        ConversationLine("agent", "", (ToolCall("call-1", "find_parcel", {"number": 7}, "In the van."),)),
        ConversationLine("agent", "It is in the van."),
    )


def test_anthropic_style_gives_the_same_lines() -> None:
    use = {"type": "tool_use", "id": "call-1", "name": "find_parcel", "input": {"number": 7}}
    result = {"type": "tool_result", "tool_use_id": "call-1", "content": [{"type": "text", "text": "In the van."}]}
    found = transcript(
        {"role": "user", "content": [{"type": "text", "text": "Where is my parcel?"}]},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "Hm."}, use]},
        {"role": "user", "content": [result]},
        {"role": "assistant", "content": "It is in the van."},
        system="Be kind.",
    )
    answer_message = {"role": "assistant", "content": "It is in the van."}
    assert found.lines == transcript(CUSTOMER_MESSAGE, CALL_MESSAGE, TOOL_RESULT, answer_message).lines


def test_what_a_customer_writes_beside_a_tool_result_is_a_line_of_its_own() -> None:
    use = {"type": "tool_use", "id": "a", "name": "look", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "a", "content": "Gone.", "is_error": True}
    found = transcript(
        CUSTOMER_MESSAGE,
        {"role": "assistant", "content": [{"type": "text", "text": "One moment."}, use]},
        {"role": "user", "content": [result, {"type": "text", "text": "Hurry."}]},
    )
    assert found.lines[1:] == (
        ConversationLine("agent", "One moment.", (ToolCall("a", "look", {}, "Gone.", is_error=True),)),
        ConversationLine("customer", "Hurry."),
    )


@pytest.mark.parametrize(("text", "failed"), [("Error: no such user", True), ("No error was found.", False)])
def test_result_that_begins_with_error_is_a_failed_call(text: str, failed: bool) -> None:
    found = transcript(CUSTOMER_MESSAGE, CALL_MESSAGE, TOOL_RESULT | {"content": text})
    assert found.lines[1].tool_calls[0].is_error is failed


def test_two_calls_of_one_id_each_get_their_own_answer() -> None:
    found = transcript(
        CUSTOMER_MESSAGE, CALL_MESSAGE, TOOL_RESULT, CALL_MESSAGE, TOOL_RESULT | {"content": "Delivered."}
    )
    assert [line.tool_calls[0].result for line in found.lines[1:]] == ["In the van.", "Delivered."]


def test_several_calls_of_one_message_are_answered_in_any_order() -> None:
    two = [CALL, CALL | {"id": "call-2"}]
    found = transcript(
        CUSTOMER_MESSAGE,
        CALL_MESSAGE | {"tool_calls": two},
        TOOL_RESULT | {"tool_call_id": "call-2", "content": "B"},
        TOOL_RESULT,
    )
    assert [call.result for call in found.lines[1].tool_calls] == ["In the van.", "B"]


def test_picture_leaves_its_kind_where_it_stood() -> None:
    picture = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
    found = transcript({"role": "user", "content": [{"type": "text", "text": "Look:"}, picture]})
    assert found.lines == (ConversationLine("customer", "Look:\n[image_url]"),)


@pytest.mark.parametrize(
    ("given", "outcome"),
    [
        ({"reward": 1.0}, "solved"),
        ({"reward": 0}, "unsolved"),
        ({"outcome": "solved"}, "solved"),
        ({"reward": 0.0, "outcome": "solved"}, "unsolved"),
        ({}, "unknown"),
    ],
)
def test_outcome_comes_from_the_reward_then_from_the_outcome(given: dict[str, Any], outcome: str) -> None:
    assert transcript(CUSTOMER_MESSAGE, **given).outcome == outcome


def test_id_is_the_given_one_or_the_hash_of_the_line() -> None:
    assert transcript(CUSTOMER_MESSAGE).transcript_id == "t-1"
    named = parse_line(json.dumps({"transcript_id": 12, "messages": [CUSTOMER_MESSAGE]}).encode())
    assert isinstance(named, ImportedTranscript)
    assert named.transcript_id == "12"
    raw = json.dumps({"messages": [CUSTOMER_MESSAGE]}).encode()
    found = parse_line(raw + b"\n")
    assert isinstance(found, ImportedTranscript)
    assert found.transcript_id == hashlib.sha256(raw).hexdigest()


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ("text", "not an object"),
        ({"role": "function", "content": "x"}, "its role is 'function'"),
        ({"role": ["user"], "content": "x"}, "its role is"),
        ({"role": "user", "content": 5}, "neither a string nor a list"),
        ({"role": "user", "content": [{"type": "text"}]}, "has no text"),
        ({"role": "user", "content": "x" * (TEXT_CHARACTERS + 1)}, "at most"),
        ({"role": "assistant", "tool_calls": "x"}, "not a list"),
        ({"role": "assistant", "tool_calls": [{"id": "a"}]}, "names no function"),
        ({"role": "assistant", "tool_calls": [{"function": {"name": "look"}}]}, "no id or no name"),
        (CALL_MESSAGE | {"tool_calls": [CALL | {"function": {"name": "look", "arguments": "{oops"}}]}, "not JSON"),
        (CALL_MESSAGE | {"tool_calls": [CALL | {"function": {"name": "look", "arguments": [1]}}]}, "not an object"),
        (
            CALL_MESSAGE | {"tool_calls": [CALL | {"function": {"name": "look", "arguments": '{"a": "\\u0000"}'}}]},
            "NUL",
        ),
    ],
)
def test_flawed_message_is_named_by_its_number(message: object, reason: str) -> None:
    assert reason in reasons(CUSTOMER_MESSAGE, message)
    assert reasons(CUSTOMER_MESSAGE, message).startswith("Message 2:")


def test_answer_to_a_call_nobody_made_is_refused() -> None:
    assert "does not exist" in reasons(CUSTOMER_MESSAGE, TOOL_RESULT)
    assert "does not exist" in reasons(CUSTOMER_MESSAGE, CALL_MESSAGE, TOOL_RESULT, TOOL_RESULT)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"id": True}, "neither a string nor an integer"),
        ({"id": "x" * 201}, "longer than 200"),
        ({"reward": "high"}, "not a number"),
        ({"outcome": "splendid"}, "not one of solved"),
        ({"messages": None}, "no list of messages"),
        ({"messages": []}, "no message of a customer"),
        ({"messages": [CUSTOMER_MESSAGE] * (MOST_MESSAGES + 1)}, "at most 2000"),
    ],
)
def test_flawed_line_says_what_is_wrong(given: dict[str, Any], reason: str) -> None:
    assert reason in reasons(CUSTOMER_MESSAGE, **given)


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"\xff", "not UTF-8"),
        (b"{", "not JSON"),
        (b"[]", "not an object"),
        (b'{"reward": NaN}', "NaN is not a JSON number"),
        (b'{"reward": 1e999}', "1e999 is not a JSON number"),
        (b"[" * 200_000, "nested too deeply"),
        (b'{"id": 1, "messages": [{"role": "user", "content": "a\\u0000"}]}', "NUL"),
        (b'{"id": 1, "messages": [{"role": "user", "content": "a\\ud800"}]}', "surrogate"),
        (b" " * (LINE_BYTES + 1), "longer than"),
    ],
)
def test_line_no_database_stores_is_refused(raw: bytes, reason: str) -> None:
    found = parse_line(raw)
    assert isinstance(found, MalformedTranscript)
    assert reason in found.reasons[0]


def test_text_that_only_spells_a_nul_is_taken() -> None:
    assert transcript({"role": "user", "content": "the escape \\u0000"}).lines[0].text == "the escape \\u0000"


def test_byte_order_mark_is_no_flaw() -> None:
    assert isinstance(
        parse_line(b"\xef\xbb\xbf" + json.dumps({"messages": [CUSTOMER_MESSAGE]}).encode()), ImportedTranscript
    )


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["role", "content", "type", "text", "tool_calls", "function", "name", "arguments", "id", "input"]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=25,
)


@given(st.lists(_json, max_size=5))
def test_whatever_stands_in_a_line_is_taken_or_refused_and_never_raises(messages: list[Any]) -> None:
    found = parse_messages(*messages)
    assert isinstance(found, ImportedTranscript) or found.reasons


@given(st.binary(max_size=200))
def test_whatever_bytes_come_they_are_refused_or_taken(raw: bytes) -> None:
    assert isinstance(parse_line(raw), ImportedTranscript | MalformedTranscript)
