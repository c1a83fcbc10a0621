"""Steps, money, and agents that answer each other: what ends a turn, and what is progress."""

import pytest

from apps.runtime.limits.turn_budgets import (
    AgentLoop,
    BudgetScope,
    DayBudgetSpent,
    MoneyLeft,
    TurnMoney,
    delegation_budget,
    detect_loop,
    money_left,
    smallest_budget,
    steps_allowed,
)

pytestmark = [pytest.mark.pure, pytest.mark.kernel]


@pytest.mark.parametrize(
    ("kind", "channel", "agent", "override", "steps"),
    [
        ("message", "voice", None, None, 6),
        ("message", "voice", 30, None, 6),
        ("message", "sms", None, None, 10),
        ("message", "sms", 4, None, 10),
        ("message", "http", None, None, 10),
        ("message", "http", 8, None, 8),
        ("delegated", "http", 8, None, 8),
        ("scheduled", "http", 8, None, 15),
        ("scheduled", "voice", 8, None, 15),
        ("message", "http", 8, 3, 3),
        ("message", "voice", 8, 12, 12),
    ],
)
def test_steps_follow_the_kind_the_channel_and_the_agent(
    kind: str, channel: str, agent: int | None, override: int | None, steps: int
) -> None:
    # R124, R125
    assert steps_allowed(kind, channel, agent, override) == steps


def test_a_turn_of_an_unknown_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="dream"):
        steps_allowed("dream", "http", None, None)


@pytest.mark.parametrize(
    ("turn", "day", "estimate", "left"),
    [
        ((0, None), (0, None), 10**12, MoneyLeft(None)),
        ((40, 100), (0, None), 60, MoneyLeft(60)),
        ((40, 100), (0, None), 61, MoneyLeft(60, BudgetScope.TURN)),
        ((0, None), (990, 1000), 10, MoneyLeft(10)),
        ((0, None), (990, 1000), 11, MoneyLeft(10, BudgetScope.DAY)),
        ((40, 100), (100, 1000), 61, MoneyLeft(60, BudgetScope.TURN)),
        ((40, 100), (990, 1000), 61, MoneyLeft(10, BudgetScope.DAY)),
        ((140, 100), (1200, 1000), 1, MoneyLeft(0, BudgetScope.DAY)),
        ((0, 0), (0, 0), 0, MoneyLeft(0)),
    ],
)
def test_a_call_that_a_purse_cannot_pay_for_is_not_made(
    turn: tuple[int, int | None], day: tuple[int, int | None], estimate: int, left: MoneyLeft
) -> None:
    assert money_left(*turn, *day, estimate) == left


@pytest.mark.parametrize(
    ("hops", "turns", "loop"),
    [(0, 1, None), (2, 20, None), (3, 1, AgentLoop.HOPS), (7, 99, AgentLoop.HOPS), (0, 21, AgentLoop.TURNS)],
)
def test_agents_that_answer_each_other_are_cut_off(hops: int, turns: int, loop: AgentLoop | None) -> None:
    assert detect_loop(hops, turns, 20) is loop


def test_a_conversation_may_be_as_busy_as_it_likes_where_nobody_says_otherwise() -> None:
    assert detect_loop(0, 1000, 0) is None


def test_money_is_paid_from_both_purses_and_the_last_call_is_known() -> None:
    # R125, R166
    money = TurnMoney(turn_cost=0, turn_budget=100, day_left=1000)
    assert money.is_limited
    assert not money.is_last(40)
    money.pay(30)
    money.pay(None)
    assert (money.turn_cost, money.day_left) == (30, 970)
    assert money.is_last(40)
    assert TurnMoney(turn_budget=1).is_last(40), "a spent turn still buys a last reply"
    assert TurnMoney(day_left=50).is_last(40)
    unlimited = TurnMoney()
    unlimited.pay(10**9)
    assert not unlimited.is_limited
    assert not unlimited.is_last(40)


@pytest.mark.parametrize(
    ("limit", "turn_budget", "turn_cost", "budget"),
    [
        (None, None, 7, None),
        (500, None, 7, 500),
        (None, 1000, 200, 400),
        (500, 1000, 200, 400),
        (300, 1000, 200, 300),
        (None, 100, 200, 0),
    ],
)
def test_an_answer_may_cost_half_of_what_the_asking_turn_has_left(
    limit: int | None, turn_budget: int | None, turn_cost: int, budget: int | None
) -> None:
    # R057
    assert delegation_budget(limit, turn_budget, turn_cost) == budget


def test_what_is_set_aside_is_spent() -> None:
    # R057
    money = TurnMoney(turn_cost=10, turn_budget=100, day_left=1000)
    money.set_aside(45)
    assert (money.turn_cost, money.day_left) == (55, 1000)
    assert smallest_budget(None, 7, 9) == 7
    assert smallest_budget(None) is None


def test_where_the_day_cannot_pay_for_a_call_nothing_is_asked() -> None:
    # R166
    with pytest.raises(DayBudgetSpent, match="budget of the day is spent"):
        TurnMoney(turn_budget=10**9, day_left=39).is_last(40)
