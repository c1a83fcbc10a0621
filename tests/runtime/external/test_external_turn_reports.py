"""A report of a turn is read in the Messages API's own form, bounded, and refused in words."""

from typing import Any

import pytest

from apps.conversations.rules import EVENT_CHARACTERS
from apps.llm.model_backend import StopReason, Usage
from apps.runtime.external.report_parsing import MOST_TOKENS, RESULT_CHARACTERS, Misreported, answers_of
from apps.tenants.rules import MOST_STEPS

pytestmark = [pytest.mark.pure, pytest.mark.kernel]

HANDED_OUT: dict[str, Any] = {"role": "user", "content": [{"type": "text", "text": "Where is my parcel?"}]}
LAST: dict[str, Any] = {
    "role": "assistant",
    "content": [{"type": "text", "text": "In Lyon."}],
    "model": "claude-sonnet-5",
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 10, "output_tokens": 3},
}
USE = {"type": "tool_use", "id": "c", "name": "track", "input": {"number": "77"}}
CALL = {**LAST, "content": [USE], "stop_reason": "tool_use"}
GAVE = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "Lyon."}]}


def test_answers_are_read_with_their_calls_and_what_they_used() -> None:
    usage = {
        "input_tokens": 4,
        "output_tokens": 5,
        "cache_read_input_tokens": 6,
        "cache_creation_input_tokens": 9,
        "cache_creation": {"ephemeral_5m_input_tokens": 2, "ephemeral_1h_input_tokens": 7},
        "service_tier": "standard",
    }
    first, last = answers_of(
        [{**CALL, "usage": usage, "id": "msg_1", "type": "message"}, GAVE, LAST], HANDED_OUT, is_whole=True
    )
    assert (first.goes_on, first.stop_reason, last.text) == (True, StopReason.TOOL_USE, "In Lyon.")
    assert first.usage == Usage(4, 5, 6, 2, 7)
    assert ({call: result.text for call, result in first.results.items()}, last.uses) == ({"c": "Lyon."}, ())


def test_user_turn_that_was_handed_out_may_stand_before_under_its_marks() -> None:
    marked = {"role": "user", "content": [{**HANDED_OUT["content"][0], "cache_control": {"type": "ephemeral"}}]}
    for turn in (HANDED_OUT, marked, {"role": "user", "content": "Where is my parcel?"}):
        [answer] = answers_of([turn, LAST], HANDED_OUT, is_whole=True)
        assert answer.text == "In Lyon."


def test_result_in_blocks_is_their_text_and_pictures_are_named() -> None:
    blocks = [{"type": "text", "text": "In"}, {"type": "image"}, {"type": "text", "text": "Lyon."}]
    gave = {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": "c", "content": blocks, "is_error": True}],
    }
    [first, _] = answers_of([CALL, gave, LAST], HANDED_OUT, is_whole=True)
    assert (first.results["c"].text, first.results["c"].is_error) == ("In\n[no text]\nLyon.", True)


def test_turn_that_was_given_up_may_end_anywhere() -> None:
    assert answers_of([], HANDED_OUT, is_whole=False) == ()
    [answer] = answers_of([CALL], HANDED_OUT, is_whole=False)
    assert (len(answer.uses), answer.results) == (1, {})


def test_call_that_was_cut_off_is_no_call() -> None:
    [answer] = answers_of([{**CALL, "stop_reason": "max_tokens"}], HANDED_OUT, is_whole=True)
    assert (answer.uses, answer.wire["content"]) == ((), [])


def result_of(**more: Any) -> dict[str, Any]:
    return {"role": "user", "content": [{**GAVE["content"][0], **more}]}  # type: ignore[dict-item]  # one block


@pytest.mark.parametrize(
    ("messages", "why"),
    [
        ([], "not over"),
        ([CALL, GAVE], "not over"),
        ([{"role": "user", "content": "Refund me."}, LAST], "Customers' words come in"),
        ([LAST, HANDED_OUT], "Customers' words come in"),
        ([{**LAST, "role": "system"}], "not an answer of the model"),
        ([{**LAST, "cost": 0}], "cost, which nobody knows"),
        ([{**LAST, "usage": {**LAST["usage"], "price": 0}}], "price, which nobody knows"),
        ([{**LAST, "usage": None}], "usage is not an object"),
        ([{**LAST, "usage": {"input_tokens": -1}}], "a whole number from 0"),
        ([{**LAST, "usage": {"output_tokens": MOST_TOKENS + 1}}], "a whole number from 0"),
        ([{**LAST, "usage": {"input_tokens": True}}], "a whole number from 0"),
        ([{**LAST, "usage": {"cache_creation": {"ephemeral_1h_input_tokens": 1}}}], "written for an hour"),
        ([{**LAST, "model": ""}], "model is a text"),
        ([{**LAST, "model": "m" * 81}], "model is a text"),
        ([{**LAST, "stop_reason": "bored"}], "stop_reason is one of"),
        ([{**LAST, "content": 7}], "neither a text nor a list"),
        ([{**LAST, "content": [{"type": "image"}]}], "of an answer these blocks"),
        ([{**LAST, "content": [{"type": "text", "text": 7}]}], "holds no text"),
        ([{**LAST, "content": "x" * (EVENT_CHARACTERS + 1)}], "characters; at most"),
        ([{**CALL, "content": "I call."}, GAVE, LAST], "calls none"),
        ([{**CALL, "content": [{**USE, "input": []}]}, GAVE, LAST], "is not an object"),
        ([{**CALL, "content": [{**USE, "id": "x" * 201}]}, GAVE, LAST], "the id of a tool call"),
        ([{**CALL, "content": [{**USE, "name": ""}]}, GAVE, LAST], "the name of a tool"),
        ([CALL, LAST], "model, stop_reason, usage, which nobody knows"),
        ([CALL, {"role": "user", "content": "Lyon."}, LAST], "what the tools of the answer before it gave back"),
        ([CALL, {"role": "user", "content": [{"type": "text", "text": "Lyon."}]}, LAST], "more than results of tools"),
        ([CALL, {"role": "user", "content": []}, LAST], "without its result: c"),
        ([CALL, result_of(tool_use_id="d"), LAST], "was not made"),
        ([CALL, result_of(content=7), LAST], "a text or a list of blocks"),
        ([CALL, result_of(content="x" * (RESULT_CHARACTERS + 1)), LAST], "characters; at most"),
        ([CALL, GAVE, CALL, GAVE, LAST], "the same id"),
        ([{**LAST, "stop_reason": "pause_turn"}] * (MOST_STEPS + 1), "40 answers"),
    ],
)
def test_report_that_cannot_be_taken_says_why(messages: list[dict[str, Any]], why: str) -> None:
    with pytest.raises(Misreported, match=why):
        answers_of(messages, HANDED_OUT, is_whole=True)
