"""A report of a turn is read in the Messages API's own form, bounded, and refused in words."""

from typing import Any

import pytest

from apps.conversations.rules import EVENT_CHARACTERS
from apps.llm.model_backend import StopReason, Usage
from apps.runtime.external.report_parsing import MOST_TOKENS, RESULT_CHARACTERS, InvalidReport, parse_replies
from apps.tenants.rules import MOST_STEPS

pytestmark = [pytest.mark.pure, pytest.mark.kernel]

USER_TURN: dict[str, Any] = {"role": "user", "content": [{"type": "text", "text": "Where is my parcel?"}]}
FINAL_ANSWER: dict[str, Any] = {
    "role": "assistant",
    "content": [{"type": "text", "text": "In Lyon."}],
    "model": "claude-sonnet-5",
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 10, "output_tokens": 3},
}
TOOL_USE_BLOCK = {"type": "tool_use", "id": "c", "name": "track", "input": {"number": "77"}}
CALL_ANSWER = {**FINAL_ANSWER, "content": [TOOL_USE_BLOCK], "stop_reason": "tool_use"}
TOOL_RESULT = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "Lyon."}]}


def test_answers_are_read_with_their_calls_and_what_they_used() -> None:
    usage = {
        "input_tokens": 4,
        "output_tokens": 5,
        "cache_read_input_tokens": 6,
        "cache_creation_input_tokens": 9,
        "cache_creation": {"ephemeral_5m_input_tokens": 2, "ephemeral_1h_input_tokens": 7},
        "service_tier": "standard",
    }
    first, last = parse_replies(
        [{**CALL_ANSWER, "usage": usage, "id": "msg_1", "type": "message"}, TOOL_RESULT, FINAL_ANSWER],
        USER_TURN,
        is_whole=True,
    )
    assert (first.goes_on, first.stop_reason, last.text) == (True, StopReason.TOOL_USE, "In Lyon.")
    assert first.usage == Usage(4, 5, 6, 2, 7)
    assert ({call: result.text for call, result in first.results.items()}, last.uses) == ({"c": "Lyon."}, ())


def test_user_turn_that_was_handed_out_may_stand_before_under_its_marks() -> None:
    marked = {"role": "user", "content": [{**USER_TURN["content"][0], "cache_control": {"type": "ephemeral"}}]}
    for turn in (USER_TURN, marked, {"role": "user", "content": "Where is my parcel?"}):
        [answer] = parse_replies([turn, FINAL_ANSWER], USER_TURN, is_whole=True)
        assert answer.text == "In Lyon."


def test_result_in_blocks_is_their_text_and_pictures_are_named() -> None:
    blocks = [{"type": "text", "text": "In"}, {"type": "image"}, {"type": "text", "text": "Lyon."}]
    gave = {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": "c", "content": blocks, "is_error": True}],
    }
    [first, _] = parse_replies([CALL_ANSWER, gave, FINAL_ANSWER], USER_TURN, is_whole=True)
    assert (first.results["c"].text, first.results["c"].is_error) == ("In\n[no text]\nLyon.", True)


def test_turn_that_was_given_up_may_end_anywhere() -> None:
    assert parse_replies([], USER_TURN, is_whole=False) == ()
    [answer] = parse_replies([CALL_ANSWER], USER_TURN, is_whole=False)
    assert (len(answer.uses), answer.results) == (1, {})


def test_call_that_was_cut_off_is_no_call() -> None:
    [answer] = parse_replies([{**CALL_ANSWER, "stop_reason": "max_tokens"}], USER_TURN, is_whole=True)
    assert (answer.uses, answer.wire["content"]) == ((), [])


def report_result(**more: Any) -> dict[str, Any]:
    return {"role": "user", "content": [{**TOOL_RESULT["content"][0], **more}]}  # type: ignore[dict-item]  # one block


@pytest.mark.parametrize(
    ("messages", "why"),
    [
        ([], "not over"),
        ([CALL_ANSWER, TOOL_RESULT], "not over"),
        (
            [{"role": "user", "content": "Refund me."}, FINAL_ANSWER],
            "Customers' messages are accepted at sessions/ only",
        ),
        ([FINAL_ANSWER, USER_TURN], "Customers' messages are accepted at sessions/ only"),
        ([{**FINAL_ANSWER, "role": "system"}], "not an answer of the model"),
        ([{**FINAL_ANSWER, "cost": 0}], "unknown keys: cost"),
        ([{**FINAL_ANSWER, "usage": {**FINAL_ANSWER["usage"], "price": 0}}], "unknown keys: price"),
        ([{**FINAL_ANSWER, "usage": None}], "usage is not an object"),
        ([{**FINAL_ANSWER, "usage": {"input_tokens": -1}}], "a whole number from 0"),
        ([{**FINAL_ANSWER, "usage": {"output_tokens": MOST_TOKENS + 1}}], "a whole number from 0"),
        ([{**FINAL_ANSWER, "usage": {"input_tokens": True}}], "a whole number from 0"),
        ([{**FINAL_ANSWER, "usage": {"cache_creation": {"ephemeral_1h_input_tokens": 1}}}], "written for an hour"),
        ([{**FINAL_ANSWER, "model": ""}], "model is a text"),
        ([{**FINAL_ANSWER, "model": "m" * 81}], "model is a text"),
        ([{**FINAL_ANSWER, "stop_reason": "bored"}], "stop_reason is one of"),
        ([{**FINAL_ANSWER, "content": 7}], "neither a text nor a list"),
        ([{**FINAL_ANSWER, "content": [{"type": "image"}]}], "may contain only these blocks"),
        ([{**FINAL_ANSWER, "content": [{"type": "text", "text": 7}]}], "contains no text"),
        ([{**FINAL_ANSWER, "content": "x" * (EVENT_CHARACTERS + 1)}], "characters; at most"),
        ([{**CALL_ANSWER, "content": "I call."}, TOOL_RESULT, FINAL_ANSWER], "calls none"),
        (
            [{**CALL_ANSWER, "content": [{**TOOL_USE_BLOCK, "input": []}]}, TOOL_RESULT, FINAL_ANSWER],
            "is not an object",
        ),
        (
            [{**CALL_ANSWER, "content": [{**TOOL_USE_BLOCK, "id": "x" * 201}]}, TOOL_RESULT, FINAL_ANSWER],
            "the id of a tool call",
        ),
        (
            [{**CALL_ANSWER, "content": [{**TOOL_USE_BLOCK, "name": ""}]}, TOOL_RESULT, FINAL_ANSWER],
            "the name of a tool",
        ),
        ([CALL_ANSWER, FINAL_ANSWER], "unknown keys: model, stop_reason, usage"),
        (
            [CALL_ANSWER, {"role": "user", "content": "Lyon."}, FINAL_ANSWER],
            "the results of the tools that the answer before it called",
        ),
        (
            [CALL_ANSWER, {"role": "user", "content": [{"type": "text", "text": "Lyon."}]}, FINAL_ANSWER],
            "more than tool results",
        ),
        ([CALL_ANSWER, {"role": "user", "content": []}, FINAL_ANSWER], "without its result: c"),
        ([CALL_ANSWER, report_result(tool_use_id="d"), FINAL_ANSWER], "was not made"),
        ([CALL_ANSWER, report_result(content=7), FINAL_ANSWER], "a text or a list of blocks"),
        ([CALL_ANSWER, report_result(content="x" * (RESULT_CHARACTERS + 1)), FINAL_ANSWER], "characters; at most"),
        ([CALL_ANSWER, TOOL_RESULT, CALL_ANSWER, TOOL_RESULT, FINAL_ANSWER], "the same id"),
        ([{**FINAL_ANSWER, "stop_reason": "pause_turn"}] * (MOST_STEPS + 1), "40 answers"),
    ],
)
def test_report_that_cannot_be_taken_says_why(messages: list[dict[str, Any]], why: str) -> None:
    with pytest.raises(InvalidReport, match=why):
        parse_replies(messages, USER_TURN, is_whole=True)
