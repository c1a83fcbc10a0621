"""Maps exceptions to failure events of a turn, for the turn machine and for requests of external agents."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from apps.llm.model_backend import BackendError, ContextExceeded, ErrorOwner
from apps.runtime.kill_switch_checks import StoppedByPerson
from apps.runtime.limits.turn_budgets import DayBudgetSpent
from apps.runtime.prompt_snapshot.snapshot_store import PromptUnavailable
from apps.runtime.turn_store.turn_journal import FenceLost, NewMessagesArrived
from apps.runtime.turns.circuit_breaker_store import BreakerOpen
from apps.runtime.turns.model_loop import TurnFailed
from apps.runtime.turns.turn_events import (
    BudgetExhausted,
    CallsDelayed,
    FailureEvent,
    FailureMet,
    FencePassed,
    HistoryTooLong,
    MessagesArrived,
    ModelUnavailable,
    PersonStopped,
)


def failure_event(error: Exception) -> FailureEvent | None:
    """The event of an expected failure; None for any other error."""
    return next((make(error) for kind, make in _EVENTS.items() if isinstance(error, kind)), None)


def unexpected_failure(error: Exception) -> FailureMet:
    """The event of an unexpected error. Only the error's type is named, since its text may quote a customer."""
    return FailureMet("unexpected", f"The worker met {type(error).__name__}.")


def _backend_failure(error: BackendError) -> FailureEvent:
    if error.who_acts is ErrorOwner.DEVELOPER:
        return FailureMet(error.code, str(error))
    return ModelUnavailable(error)


def _fatal_failure(error: TurnFailed | PromptUnavailable) -> FailureEvent:
    return FailureMet(error.code, str(error))


# The first matching type decides. Any: each function takes errors of its own type.
_EVENTS: Final[Mapping[type[Exception], Callable[[Any], FailureEvent]]] = {
    ContextExceeded: lambda error: HistoryTooLong(error.code, str(error)),
    BackendError: _backend_failure,
    TurnFailed: _fatal_failure,
    PromptUnavailable: _fatal_failure,
    BreakerOpen: CallsDelayed,
    DayBudgetSpent: lambda _: BudgetExhausted(),
    StoppedByPerson: lambda _: PersonStopped(),
    NewMessagesArrived: lambda _: MessagesArrived(),
    FenceLost: lambda _: FencePassed(),
}
