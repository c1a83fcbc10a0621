"""When a session is over, and what is replayed."""

from datetime import UTC, datetime, timedelta

import pytest

from apps.runtime.limits.turn_limits import (
    HISTORY_MESSAGES,
    HISTORY_STEP,
    TOOLS_OFFERED,
    history_window,
    is_nudged,
    is_stale,
    offered_tools,
    shortened_start,
)

pytestmark = [pytest.mark.pure, pytest.mark.kernel]

NOW = datetime(2026, 5, 9, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("silent_seconds", "idle_seconds", "stale"),
    [(0, 1800, False), (1800, 1800, False), (1801, 1800, True), (0, 0, True), (1, 0, True)],
)
def test_a_session_ends_after_more_than_its_idle_time(silent_seconds: int, idle_seconds: int, stale: bool) -> None:
    # R064
    assert is_stale(NOW - timedelta(seconds=silent_seconds), NOW, idle_seconds) == stale


def test_after_every_tenth_turn_an_agent_is_asked_what_is_worth_saving() -> None:
    # R105
    assert [turns for turns in range(31) if is_nudged(turns)] == [10, 20, 30]


def test_what_was_never_used_is_over() -> None:
    assert is_stale(None, NOW, 1800)


@pytest.mark.parametrize(("age_seconds", "stale"), [(3600, False), (3601, True)])
def test_a_session_in_steady_use_ends_by_its_age(age_seconds: int, stale: bool) -> None:
    # Z-5
    assert is_stale(NOW, NOW, 1800, NOW - timedelta(seconds=age_seconds), 3600) == stale
    assert not is_stale(NOW, NOW, 1800, NOW - timedelta(seconds=age_seconds))


def turn(number: int) -> list[dict[str, object]]:
    """A question, a tool call, its result, an answer."""
    return [
        {"role": "user", "content": [{"type": "text", "text": f"question {number}"}]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": str(number)}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": str(number)}]},
        {"role": "assistant", "content": "answer"},
    ]


def history(turns: int) -> list[dict[str, object]]:
    return [message for number in range(turns) for message in turn(number)]


def test_a_short_history_is_replayed_whole() -> None:
    for turns in (0, 1, HISTORY_MESSAGES // 4):
        assert history_window(history(turns)) == tuple(history(turns))


def test_a_long_history_is_cut_in_steps_and_begins_with_a_question() -> None:
    # R143: while a step lasts, the replayed prefix is the same.
    messages = history(26)
    window = history_window(messages)
    assert window == tuple(messages[52:])
    assert window[0] == messages[52]
    for turns in range(26, 38):
        assert history_window(history(turns))[0] == messages[52]
        assert len(history_window(history(turns))) <= HISTORY_MESSAGES
    assert history_window(history(38))[0] == history(38)[2 * HISTORY_STEP]


def test_a_history_without_a_question_is_not_replayed() -> None:
    results = [message for message in history(1) if message["role"] == "assistant" or "tool_result" in str(message)]
    assert history_window(results) == ()
    assert history_window([{"role": "user", "content": "plain"}]) == ({"role": "user", "content": "plain"},)


def test_a_history_that_does_not_fit_is_halved_and_begins_with_a_question() -> None:
    messages = history(8)
    for times in (1, 2):
        start = shortened_start(messages, times)
        assert len(messages) - start <= len(messages) >> times
        assert messages[start]["role"] == "user"
        assert "tool_result" not in str(messages[start])
    assert shortened_start(messages, 0) == 0
    assert shortened_start([], 1) == 0


def test_too_many_tools_give_way_to_those_that_lead_to_them() -> None:
    # R125
    ours, routing = ["own"], ["list", "use", "call"]
    just = [str(number) for number in range(TOOLS_OFFERED - 1)]
    assert offered_tools(ours, just, routing) == (*ours, *just)
    offered = offered_tools(ours, [*just, "one more"], routing)
    assert len(offered) == TOOLS_OFFERED
    assert offered == (*ours, *just[: TOOLS_OFFERED - 4], *routing)
