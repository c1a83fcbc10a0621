"""Blocked turns: released until a person, a budget or an endpoint lets them continue."""

from typing import Final

from apps.llm.model_backend import SpendLimitReached
from apps.runtime.kill_switch_checks import StoppedByPerson
from apps.runtime.limits.turn_budgets import DayBudgetSpent
from apps.runtime.models import Turn
from apps.runtime.turns.circuit_breaker_store import BreakerOpen

BLOCKED_CODES: Final = (StoppedByPerson.code, BreakerOpen.code, DayBudgetSpent.code, SpendLimitReached.code)


def is_blocked(turn: Turn) -> bool:
    """Whether the turn was released to wait for a person, a budget or an endpoint."""
    return turn.status == Turn.Status.RUNNING and turn.is_released and turn.failure_code in BLOCKED_CODES
