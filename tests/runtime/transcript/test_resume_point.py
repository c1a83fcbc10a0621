"""Where a turn goes on after a crash, from what the journal has of it."""

import pytest

from apps.conversations.rules import ToolCall
from apps.llm.model_backend import JsonObject, ToolUse
from apps.runtime.turn_store.model_steps import Said, Step, results_of
from apps.runtime.turn_store.resume import KeptCall, KeptStep, Resumed, resumed

pytestmark = [pytest.mark.pure, pytest.mark.kernel]

CALLED: JsonObject = {
    "role": "assistant",
    "content": [
        {"type": "text", "text": "Let me see."},
        {"type": "tool_use", "id": "a", "name": "list_skills", "input": {}},
        {"type": "tool_use", "id": "b", "name": "refund", "input": {"order": "1"}},
    ],
}
ENDED: JsonObject = {"role": "assistant", "content": [{"type": "text", "text": "Done."}]}
FIRST, SECOND = ToolCall("a", "list_skills", {}, "[]"), ToolCall("b", "refund", {"order": "1"}, "Refunded.")


def calling(*made: KeptCall, number: int = 1) -> KeptStep:
    return KeptStep(Said(number, "Let me see.", CALLED, "tool_use"), dict(enumerate(made)))


def test_a_turn_of_which_nothing_was_kept_asks_its_first_call() -> None:
    assert resumed([]) == Resumed()
    assert resumed([]).asking == 1


def test_what_an_answer_wanted_called_is_read_back_from_its_words() -> None:
    said = calling().said
    assert said.uses == (ToolUse("a", "list_skills", {}), ToolUse("b", "refund", {"order": "1"}))
    assert Said(1, "Done.", ENDED, "end_turn").uses == ()
    odd: JsonObject = {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "x", "input": "text"}]}
    assert Said(1, "", odd, "tool_use").uses == (ToolUse("c", "x", {}),)
    assert Said(1, "", {"role": "assistant", "content": "Done."}, "tool_use").uses == ()


def test_a_whole_step_is_behind_and_the_next_is_asked() -> None:
    whole = resumed([calling(KeptCall(FIRST), KeptCall(SECOND))])
    assert whole.steps == (Step("Let me see.", CALLED, (FIRST, SECOND), results_of((FIRST, SECOND))),)
    assert (whole.last, whole.asking) == (None, 2)


def test_a_pause_of_the_model_is_a_whole_step() -> None:
    paused = resumed([KeptStep(Said(1, "Done.", ENDED, "pause_turn"))])
    assert paused.steps == (Step("Done.", ENDED),)
    assert paused.last is None


def test_a_step_whose_tools_were_not_all_called_is_taken_up_where_it_stopped() -> None:
    before = calling(KeptCall(FIRST), KeptCall(SECOND))
    for made in ((), (KeptCall(FIRST),), (KeptCall(FIRST), KeptCall(SECOND, is_open=True))):
        left = resumed([before, calling(*made, number=2)])
        assert len(left.steps) == 1
        assert left.last == calling(number=2).said
        assert list(left.calls.values()) == list(made)


def test_an_answer_that_was_kept_but_did_not_leave_is_the_last() -> None:
    kept = resumed([KeptStep(Said(1, "Done.", ENDED, "end_turn"))])
    assert (kept.steps, kept.last) == ((), Said(1, "Done.", ENDED, "end_turn"))
