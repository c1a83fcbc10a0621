"""What a turn may spend: steps, money, and turns of agents that answer each other; pure."""

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
    """What a turn answers."""

    MESSAGE = "message"
    SCHEDULED = "scheduled"
    DELEGATED = "delegated"


# R124. Its fourth number is of a run for nudges; ours is a paragraph in a customer's turn, of which it gets no more than that.
STEPS_BY_KIND: Final[Mapping[TurnKind, int]] = {TurnKind.SCHEDULED: 15}
SAVES_PER_NUDGE: Final = 5
TOO_MANY_SAVES: Final = (
    "You have saved enough in this turn. Answer the customer now; what is left you are asked about again."
)


def steps_allowed(kind: str, channel: str, agent_max_steps: int | None, override: int | None) -> int:
    """How often a turn may call the model (R124, R125).

    The run's own number stands above all; a kind or channel with a number of its own stands above the agent's.
    """
    fixed = STEPS_BY_KIND.get(TurnKind(kind), STEPS_BY_CHANNEL.get(channel))
    return next((steps for steps in (override, fixed, agent_max_steps) if steps is not None), STEPS_OF_OTHER_CHANNELS)


class BudgetScope(StrEnum):
    """Whose money is spent: the turn's, or the tenant's of this day."""

    TURN = "turn"
    DAY = "day"


@dataclass(frozen=True, slots=True)
class MoneyLeft:
    """What the next call may cost at most, None where nobody set a budget, and the purse that cannot pay for it."""

    micro_usd: int | None
    spent: BudgetScope | None = None


def money_left(
    turn_cost: int, turn_budget: int | None, day_cost: int, day_budget: int | None, next_call_estimate: int
) -> MoneyLeft:
    """Asked before a call, in micro-dollars, so that a budget is overrun by less than a call.

    Where neither purse can pay, it is the day's that counts: an agent without it stops answering anybody.
    """
    day = None if day_budget is None else max(0, day_budget - day_cost)
    turn = None if turn_budget is None else max(0, turn_budget - turn_cost)
    left = min((purse for purse in (day, turn) if purse is not None), default=None)
    for purse, amount in ((BudgetScope.DAY, day), (BudgetScope.TURN, turn)):
        if amount is not None and amount < next_call_estimate:
            return MoneyLeft(left, purse)
    return MoneyLeft(left)


class DayBudgetSpent(Exception):
    """The tenant's money of the day is gone; what waits is answered on the next day, or once somebody gives more."""

    code = "day_budget_spent"

    def __init__(self) -> None:
        super().__init__(
            "The budget of the day is spent. This is answered tomorrow, or soon after the budget is raised."
        )


@dataclass(slots=True)
class TurnMoney:
    """What a turn has spent, and what it and its tenant's day have left; kept from call to call."""

    turn_cost: int = 0
    turn_budget: int | None = None
    day_left: int | None = None

    @property
    def is_limited(self) -> bool:
        """Whether anybody set a budget."""
        return self.turn_budget is not None or self.day_left is not None

    def pay(self, cost: int | None) -> None:
        """A call was answered; one without a known price cannot be counted."""
        self.turn_cost += cost or 0
        if self.day_left is not None:
            self.day_left -= cost or 0

    def set_aside(self, budget: int) -> None:
        """Give a part of the turn's budget to another agent; what that one does not need is not given back."""
        self.turn_cost += budget

    def is_last(self, estimate: int) -> bool:
        """Whether a call of this price is the last that can be paid. Raises `DayBudgetSpent` where not even that one can.

        A turn's own budget pays for a last reply even where it is spent: it is overrun by less than a call.
        """
        if self._money_left(estimate).spent is BudgetScope.DAY:
            raise DayBudgetSpent
        return self._money_left(2 * estimate).spent is not None

    def _money_left(self, estimate: int) -> MoneyLeft:
        return money_left(self.turn_cost, self.turn_budget, 0, self.day_left, estimate)


class AgentLoop(StrEnum):
    """How agents that answer each other were noticed."""

    HOPS = "hops"
    TURNS = "turns"


def delegation_budget(limit: int | None, turn_budget: int | None, turn_cost: int) -> int | None:
    """What another agent may spend on an answer: half of what the asking turn has left, or the limit if that is less."""
    half = None if turn_budget is None else max(0, turn_budget - turn_cost) // 2
    return smallest_budget(limit, half)


def smallest_budget(*budgets: int | None) -> int | None:
    """The tightest of several budgets; none where nobody set one."""
    return min((budget for budget in budgets if budget is not None), default=None)


def detect_loop(hops: int, turns_lately: int, most_turns: int) -> AgentLoop | None:
    """Why nobody answers any more: a message passed between agents too often, or a conversation too busy for people.

    `turns_lately` are the turns of this conversation that began within the last `LOOP_WINDOW`, this one included, and
    `most_turns` as many as there may be; 0 means any number.
    """
    if hops >= MAX_AGENT_HOPS:
        return AgentLoop.HOPS
    return AgentLoop.TURNS if 0 < most_turns < turns_lately else None
