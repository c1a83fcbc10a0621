"""Budgets of a turn: model calls, money, and the turns of agents that answer each other; pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Final

from apps.conversations.rules import MOST_DELEGATION_DEPTH

# R124
STEPS_BY_CHANNEL: Final[Mapping[str, int]] = {"voice": 6, "sms": 10}
STEPS_OF_OTHER_CHANNELS = 10

MAX_AGENT_HOPS = MOST_DELEGATION_DEPTH + 1
LOOP_WINDOW = timedelta(minutes=10)


class TurnKind(StrEnum):
    """The origin of a turn: a message, another agent, or a schedule."""

    MESSAGE = "message"
    SCHEDULED = "scheduled"
    DELEGATED = "delegated"


# R124. The requirement's fourth number is for a separate run that saves skills. This product has no such run: a paragraph in a
# customer's turn asks for the saves.
STEPS_BY_KIND: Final[Mapping[TurnKind, int]] = {TurnKind.SCHEDULED: 15}
SAVES_PER_NUDGE: Final = 5
TOO_MANY_SAVES: Final = (
    "You have saved enough in this turn. Answer the customer now; what is left you are asked about again."
)


def steps_allowed(kind: str, channel: str, agent_max_steps: int | None, override: int | None) -> int:
    """The number of model calls that a turn may make (R124, R125).

    The event's own number takes precedence, then the number of the kind or channel, then the agent's.
    """
    fixed = STEPS_BY_KIND.get(TurnKind(kind), STEPS_BY_CHANNEL.get(channel))
    return next((steps for steps in (override, fixed, agent_max_steps) if steps is not None), STEPS_OF_OTHER_CHANNELS)


class BudgetScope(StrEnum):
    """The budget that is spent: the turn's, or the tenant's for the day."""

    TURN = "turn"
    DAY = "day"


@dataclass(frozen=True, slots=True)
class MoneyLeft:
    """The most that the next call may cost (None without a budget), and the budget that cannot pay for the call, if any."""

    micro_usd: int | None
    spent: BudgetScope | None = None


def money_left(
    turn_cost: int, turn_budget: int | None, day_cost: int, day_budget: int | None, next_call_estimate: int
) -> MoneyLeft:
    """The money left before a call, in micro-dollars. A budget is exceeded by less than the cost of one call.

    If neither budget can pay, the day's budget is returned as spent, because it stops all answers and not only this turn.
    """
    day = None if day_budget is None else max(0, day_budget - day_cost)
    turn = None if turn_budget is None else max(0, turn_budget - turn_cost)
    left = min((purse for purse in (day, turn) if purse is not None), default=None)
    for purse, amount in ((BudgetScope.DAY, day), (BudgetScope.TURN, turn)):
        if amount is not None and amount < next_call_estimate:
            return MoneyLeft(left, purse)
    return MoneyLeft(left)


class DayBudgetSpent(Exception):
    """The tenant's budget for the day is spent. Pending messages are answered the next day, or after the budget is raised."""

    code = "day_budget_spent"

    def __init__(self) -> None:
        super().__init__(
            "The budget of the day is spent. This is answered tomorrow, or soon after the budget is raised."
        )


@dataclass(slots=True)
class TurnMoney:
    """The money that a turn has spent, and what is left of the budgets of the turn and the day; updated with each call."""

    turn_cost: int = 0
    turn_budget: int | None = None
    day_left: int | None = None

    @property
    def is_limited(self) -> bool:
        """Whether the turn or the day has a budget."""
        return self.turn_budget is not None or self.day_left is not None

    def pay(self, cost: int | None) -> None:
        """Count the cost of an answered call. A call without a known price counts as free."""
        self.turn_cost += cost or 0
        if self.day_left is not None:
            self.day_left -= cost or 0

    def set_aside(self, budget: int) -> None:
        """Set aside a part of the turn's budget for another agent. An unused rest is not returned."""
        self.turn_cost += budget

    def is_last(self, estimate: int) -> bool:
        """Whether a call of this price is the last one that can be paid. Raises `DayBudgetSpent` if the day cannot pay it.

        A turn whose own budget is spent may still make one last call, so the budget is exceeded by less than one call.
        """
        if self._money_left(estimate).spent is BudgetScope.DAY:
            raise DayBudgetSpent
        return self._money_left(2 * estimate).spent is not None

    def _money_left(self, estimate: int) -> MoneyLeft:
        return money_left(self.turn_cost, self.turn_budget, 0, self.day_left, estimate)


class AgentLoop(StrEnum):
    """The sign by which a loop of agents that answer each other was detected."""

    HOPS = "hops"
    TURNS = "turns"


def delegation_budget(limit: int | None, turn_budget: int | None, turn_cost: int) -> int | None:
    """The budget for a delegated answer: half of the money left to the delegating turn, or the limit if that is less."""
    half = None if turn_budget is None else max(0, turn_budget - turn_cost) // 2
    return smallest_budget(limit, half)


def smallest_budget(*budgets: int | None) -> int | None:
    """The smallest of several budgets; None if there is none."""
    return min((budget for budget in budgets if budget is not None), default=None)


def detect_loop(hops: int, turns_lately: int, most_turns: int) -> AgentLoop | None:
    """Detect a loop: agents passed a message on too often, or the conversation has more turns than people would cause.

    `turns_lately` counts the turns of this conversation that began within the last `LOOP_WINDOW`, this one included.
    `most_turns` is the limit; 0 means no limit.
    """
    if hops >= MAX_AGENT_HOPS:
        return AgentLoop.HOPS
    return AgentLoop.TURNS if 0 < most_turns < turns_lately else None
