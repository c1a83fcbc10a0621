"""The same call with the same result: refused, then the end of the turn; progress is neither."""

import pytest

from apps.conversations.rules import ToolCall
from apps.runtime.limits.repeated_calls import SAME_CALL_REFUSAL, RepeatCounter, RepeatVerdict

pytestmark = [pytest.mark.pure, pytest.mark.kernel]


def judge_repeats(counter: RepeatCounter, *results: str) -> list[RepeatVerdict]:
    """The verdicts on one call asked again and again; what is refused is answered with the refusal."""
    verdicts = []
    for result in results:
        verdicts.append(counter.judge("look", {"at": "order"}))
        is_called = verdicts[-1] is RepeatVerdict.CALL
        counter.record("look", {"at": "order"}, result if is_called else SAME_CALL_REFUSAL)
    return verdicts


def test_the_same_call_is_refused_a_third_time_and_ends_the_loop_a_fifth() -> None:
    call, refuse, stop = RepeatVerdict.CALL, RepeatVerdict.REFUSE, RepeatVerdict.STOP
    assert judge_repeats(RepeatCounter(), *["waiting"] * 6) == [call, call, refuse, refuse, stop, stop]


def test_a_call_that_brings_something_new_is_progress() -> None:
    assert set(judge_repeats(RepeatCounter(), *map(str, range(20)))) == {RepeatVerdict.CALL}
    assert judge_repeats(RepeatCounter(), "a", "a")[-1] is RepeatVerdict.CALL
    assert set(judge_repeats(RepeatCounter(), *["a", "b"] * 10)) == {RepeatVerdict.CALL}


def test_other_calls_between_make_the_same_call_no_newer() -> None:
    counter = RepeatCounter()
    for other in range(2):
        counter.record("look", {"at": "order"}, "waiting")
        counter.record("find", {"for": other}, "nothing")
    assert counter.judge("look", {"at": "order"}) is RepeatVerdict.REFUSE
    assert counter.judge("look", {"at": "parcel"}) is RepeatVerdict.CALL
    assert counter.judge("find", {"at": "order"}) is RepeatVerdict.CALL
    assert counter.count == 4


def test_the_order_of_arguments_makes_no_other_call() -> None:
    counter = RepeatCounter()
    counter.record("look", {"at": "order", "deep": {"a": 1, "b": 2}}, "waiting")
    counter.record("look", {"deep": {"b": 2, "a": 1}, "at": "order"}, "waiting")
    assert counter.judge("look", {"deep": {"b": 2, "a": 1}, "at": "order"}) is RepeatVerdict.REFUSE


def test_half_a_character_in_a_result_is_counted_like_any_other() -> None:
    assert judge_repeats(RepeatCounter(), "\ud83d", "\ud83d", "\ud83d")[-1] is RepeatVerdict.REFUSE


def test_a_resumed_turn_counts_on_where_it_was() -> None:
    arguments: dict[str, object] = {"at": "order"}
    kept = [ToolCall(f"t{number}", "look", arguments, "waiting") for number in range(2)]
    refused = [ToolCall(f"t{number}", "look", arguments, SAME_CALL_REFUSAL, is_error=True) for number in range(2, 4)]
    for number, verdict in enumerate(
        [RepeatVerdict.CALL, RepeatVerdict.CALL, RepeatVerdict.REFUSE, RepeatVerdict.REFUSE, RepeatVerdict.STOP]
    ):
        assert RepeatCounter.of([*kept, *refused][:number]).judge("look", arguments) is verdict
