"""Where a turn goes on after a crash, from what the journal has of it."""

import pytest

from apps.conversations.rules import ToolCall
from apps.llm.model_backend import JsonObject, ToolUse
from apps.runtime.turn_store.model_steps import AssistantMessage, TurnStep, tool_results_message
from apps.runtime.turn_store.resume import JournaledCall, JournaledStep, ResumePoint, find_resume_point

pytestmark = [pytest.mark.pure, pytest.mark.kernel]

CALL_MESSAGE: JsonObject = {
    "role": "assistant",
    "content": [
        {"type": "text", "text": "Let me see."},
        {"type": "tool_use", "id": "a", "name": "list_skills", "input": {}},
        {"type": "tool_use", "id": "b", "name": "refund", "input": {"order": "1"}},
    ],
}
FINAL_MESSAGE: JsonObject = {"role": "assistant", "content": [{"type": "text", "text": "Done."}]}
FIRST, SECOND = ToolCall("a", "list_skills", {}, "[]"), ToolCall("b", "refund", {"order": "1"}, "Refunded.")


def step_with_calls(*made: JournaledCall, number: int = 1) -> JournaledStep:
    return JournaledStep(AssistantMessage(number, "Let me see.", CALL_MESSAGE, "tool_use"), dict(enumerate(made)))


def test_a_turn_of_which_nothing_was_kept_asks_its_first_call() -> None:
    assert find_resume_point([]) == ResumePoint()
    assert find_resume_point([]).asking == 1


def test_what_an_answer_wanted_called_is_read_back_from_its_words() -> None:
    message = step_with_calls().said
    assert message.uses == (ToolUse("a", "list_skills", {}), ToolUse("b", "refund", {"order": "1"}))
    assert AssistantMessage(1, "Done.", FINAL_MESSAGE, "end_turn").uses == ()
    odd: JsonObject = {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "x", "input": "text"}]}
    assert AssistantMessage(1, "", odd, "tool_use").uses == (ToolUse("c", "x", {}),)
    assert AssistantMessage(1, "", {"role": "assistant", "content": "Done."}, "tool_use").uses == ()


def test_a_whole_step_is_behind_and_the_next_is_asked() -> None:
    whole = find_resume_point([step_with_calls(JournaledCall(FIRST), JournaledCall(SECOND))])
    assert whole.steps == (
        TurnStep("Let me see.", CALL_MESSAGE, (FIRST, SECOND), tool_results_message((FIRST, SECOND))),
    )
    assert (whole.last, whole.asking) == (None, 2)


def test_a_pause_of_the_model_is_a_whole_step() -> None:
    paused = find_resume_point([JournaledStep(AssistantMessage(1, "Done.", FINAL_MESSAGE, "pause_turn"))])
    assert paused.steps == (TurnStep("Done.", FINAL_MESSAGE),)
    assert paused.last is None


def test_a_step_whose_tools_were_not_all_called_is_taken_up_where_it_stopped() -> None:
    before = step_with_calls(JournaledCall(FIRST), JournaledCall(SECOND))
    for made in ((), (JournaledCall(FIRST),), (JournaledCall(FIRST), JournaledCall(SECOND, is_open=True))):
        left = find_resume_point([before, step_with_calls(*made, number=2)])
        assert len(left.steps) == 1
        assert left.last == step_with_calls(number=2).said
        assert list(left.calls.values()) == list(made)


def test_an_answer_that_was_kept_but_did_not_leave_is_the_last() -> None:
    kept = find_resume_point([JournaledStep(AssistantMessage(1, "Done.", FINAL_MESSAGE, "end_turn"))])
    assert (kept.steps, kept.last) == ((), AssistantMessage(1, "Done.", FINAL_MESSAGE, "end_turn"))
