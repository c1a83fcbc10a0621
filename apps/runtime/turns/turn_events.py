"""Events of a turn: those that a waiting state receives, and those that the work of a state returns.

Events are values. A handler returns an event instead of raising an exception, and an event holds only the data that the next
state needs. `turn_states` has the transitions for each event. `turn_failures` maps exceptions to events.
"""

from dataclasses import dataclass
from typing import TypeAlias

from apps.llm.model_backend import BackendError, ModelReply
from apps.runtime.tools.toolbox import CallOutcome, ExternalCall
from apps.runtime.turn_store.turn_journal import ClosedTurn
from apps.runtime.turns.circuit_breaker_store import BreakerOpen

# --- Events from outside: from the claim, from a driver that performed an effect, or from a person.


@dataclass(frozen=True, slots=True)
class TurnStarted:
    """A worker has claimed the turn and begins it."""


@dataclass(frozen=True, slots=True)
class ModelReplied:
    """The model call returned a reply."""

    reply: ModelReply


@dataclass(frozen=True, slots=True)
class ToolReturned:
    """The external tool call returned, or its outcome is unknown."""

    call: ExternalCall
    outcome: CallOutcome


@dataclass(frozen=True, slots=True)
class CallFailed:
    """The model call or tool call raised this error."""

    error: Exception


@dataclass(frozen=True, slots=True)
class MessagesArrived:
    """The customer wrote again, and the agent is set to answer all messages in one reply."""


@dataclass(frozen=True, slots=True)
class PersonStopped:
    """A person paused the agent or took the conversation over."""


@dataclass(frozen=True, slots=True)
class WorkerStopping:
    """The worker is shutting down and releases its turns."""


# --- Events that the work of a state returns.


@dataclass(frozen=True, slots=True)
class ReadyToCall:
    """The turn has its session, history and tools, and the next step is a model call."""


@dataclass(frozen=True, slots=True)
class ReplyResumed:
    """The turn has its session, history and tools, and an earlier worker left a reply that is not fully processed."""


@dataclass(frozen=True, slots=True)
class CallPlanned:
    """The next request to the model is ready."""


@dataclass(frozen=True, slots=True)
class ReplyCompleted:
    """The model's reply is final and can be delivered."""


@dataclass(frozen=True, slots=True)
class ReplyContinues:
    """The reply calls tools, or the model paused, so another model call follows."""


@dataclass(frozen=True, slots=True)
class ToolCallBegun:
    """An external tool call is recorded in the journal and may be made."""


@dataclass(frozen=True, slots=True)
class ToolsAnswered:
    """Every tool call of the reply has a result."""


@dataclass(frozen=True, slots=True)
class StepRecorded:
    """The reply and its tool results are recorded in the journal."""


@dataclass(frozen=True, slots=True)
class RoundRestarted:
    """A new round of the turn has begun with all messages. `may_go_on` is false if a person stopped the turn meanwhile."""

    may_go_on: bool


@dataclass(frozen=True, slots=True)
class NothingArrived:
    """The turn continues without a restart: no message is waiting, or the turn did something that must not be repeated."""


@dataclass(frozen=True, slots=True)
class TurnReleased:
    """The worker has released the turn. `more_waits` if this turn or the conversation's next one may be claimed at once."""

    more_waits: bool = False


# --- Events that exceptions are mapped to.


@dataclass(frozen=True, slots=True)
class FailureMet:
    """The turn cannot produce a reply; `code` is the reason in one word, `sentence` the reason for people."""

    code: str
    sentence: str


@dataclass(frozen=True, slots=True)
class HistoryTooLong:
    """The prompt exceeds the model's context window. `code` and `sentence` describe the failure if no history can be left out."""

    code: str
    sentence: str


@dataclass(frozen=True, slots=True)
class ModelUnavailable:
    """The model cannot be called now; a later try or an operator can help."""

    error: BackendError


@dataclass(frozen=True, slots=True)
class CallsDelayed:
    """The model's circuit breaker is open."""

    breaker: BreakerOpen


@dataclass(frozen=True, slots=True)
class BudgetExhausted:
    """The tenant's budget for the day is spent."""


@dataclass(frozen=True, slots=True)
class FencePassed:
    """Another worker has claimed the turn, so this one may write nothing more."""


FailureEvent: TypeAlias = (
    FailureMet
    | HistoryTooLong
    | ModelUnavailable
    | CallsDelayed
    | BudgetExhausted
    | PersonStopped
    | MessagesArrived
    | FencePassed
)
# `ClosedTurn` is the result of the statement that ends a turn.
MachineEvent: TypeAlias = (
    TurnStarted
    | ModelReplied
    | ToolReturned
    | CallFailed
    | WorkerStopping
    | ReadyToCall
    | ReplyResumed
    | CallPlanned
    | ReplyCompleted
    | ReplyContinues
    | ToolCallBegun
    | ToolsAnswered
    | StepRecorded
    | RoundRestarted
    | NothingArrived
    | TurnReleased
    | ClosedTurn
    | FailureEvent
)
# A driver may report one of these for each effect, since a person or a shutdown may interrupt any effect.
Interruption: TypeAlias = PersonStopped | WorkerStopping
ModelCallEvent: TypeAlias = ModelReplied | CallFailed | MessagesArrived
ToolCallEvent: TypeAlias = ToolReturned | CallFailed
