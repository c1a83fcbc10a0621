"""The event that a failure of a turn becomes, for its machine and for requests of external agents alike."""

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
    """The event of a failure that turns know; None for any other error."""
    return next((make(error) for kind, make in _EVENTS.items() if isinstance(error, kind)), None)


def unexpected_failure(error: Exception) -> FailureMet:
    """The event of any other error. Its text may quote a customer, so only its type is named."""
    return FailureMet("unexpected", f"The worker met {type(error).__name__}.")


def _backend_failure(error: BackendError) -> FailureEvent:
    if error.who_acts is ErrorOwner.DEVELOPER:
        return FailureMet(error.code, str(error))
    return ModelUnavailable(error)


def _fatal_failure(error: TurnFailed | PromptUnavailable) -> FailureEvent:
    return FailureMet(error.code, str(error))


# The first kind that fits decides. Any: each takes errors of its own kind.
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
