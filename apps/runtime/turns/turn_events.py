"""Events of a turn: what a state waits for, and what the work of a state ends with.

Events are values. No handler raises to say what comes next, and no event holds more than the next state needs. Which event
leads where is in `turn_states`; `turn_failures` makes an event of an exception.
"""

from dataclasses import dataclass
from typing import TypeAlias

from apps.llm.model_backend import BackendError, ModelReply
from apps.runtime.tools.toolbox import CallOutcome, ExternalCall
from apps.runtime.turn_store.turn_journal import ClosedTurn
from apps.runtime.turns.circuit_breaker_store import BreakerOpen

# --- Events that arrive from outside: from the claim, from a driver that performed an effect, or from a person.


@dataclass(frozen=True, slots=True)
class TurnStarted:
    """A worker has claimed the turn and begins."""


@dataclass(frozen=True, slots=True)
class ModelReplied:
    """The model call brought a reply."""

    reply: ModelReply


@dataclass(frozen=True, slots=True)
class ToolReturned:
    """The external tool call came back, or nobody knows what it did."""

    call: ExternalCall
    outcome: CallOutcome


@dataclass(frozen=True, slots=True)
class CallFailed:
    """The call of the model or of a tool raised this error."""

    error: Exception


@dataclass(frozen=True, slots=True)
class MessagesArrived:
    """The customer wrote again, and the agent prefers to answer everything at once."""


@dataclass(frozen=True, slots=True)
class PersonStopped:
    """A person paused the agent or took the conversation over."""


@dataclass(frozen=True, slots=True)
class WorkerStopping:
    """The worker shuts down and gives its turns back."""


# --- Events that the work of a state ends with.


@dataclass(frozen=True, slots=True)
class ReadyToCall:
    """The turn has its session, history and tools, and the model owes the next reply."""


@dataclass(frozen=True, slots=True)
class ReplyResumed:
    """The turn has its session, history and tools, and a reply that an earlier worker kept is not worked off yet."""


@dataclass(frozen=True, slots=True)
class CallPlanned:
    """The next request to the model is ready."""


@dataclass(frozen=True, slots=True)
class ReplyCompleted:
    """The model's reply is its last one and can be delivered."""


@dataclass(frozen=True, slots=True)
class ReplyContinues:
    """The model called tools, or paused: it is asked again afterwards."""


@dataclass(frozen=True, slots=True)
class ToolCallBegun:
    """An external tool call is in the journal and may be made."""


@dataclass(frozen=True, slots=True)
class ToolsAnswered:
    """Every tool that the reply called has its result."""


@dataclass(frozen=True, slots=True)
class StepRecorded:
    """The reply and the results of its tools are in the journal."""


@dataclass(frozen=True, slots=True)
class RoundRestarted:
    """A new round of the turn has begun with all messages. `may_go_on` is false where a person stopped it meanwhile."""

    may_go_on: bool


@dataclass(frozen=True, slots=True)
class NothingArrived:
    """No message is waiting, or the turn did something that cannot be done twice: it goes on as it was."""


@dataclass(frozen=True, slots=True)
class TurnReleased:
    """The turn was given back. `more_waits` if it, or another of its conversation, may be taken at once."""

    more_waits: bool = False


# --- Events that an exception becomes.


@dataclass(frozen=True, slots=True)
class FailureMet:
    """The turn can't give a reply: one word for programs, one sentence for people."""

    code: str
    sentence: str


@dataclass(frozen=True, slots=True)
class HistoryTooLong:
    """The model has no room for the prompt. `code` and `sentence` describe the failure if nothing can be left out."""

    code: str
    sentence: str


@dataclass(frozen=True, slots=True)
class ModelUnavailable:
    """The model can't be asked now; time or an operator can help."""

    error: BackendError


@dataclass(frozen=True, slots=True)
class CallsDelayed:
    """The circuit breaker of the model is open."""

    breaker: BreakerOpen


@dataclass(frozen=True, slots=True)
class BudgetExhausted:
    """The tenant's budget of the day is spent."""


@dataclass(frozen=True, slots=True)
class FencePassed:
    """Another worker holds the turn by now; this one may write nothing more."""


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
# `ClosedTurn` is what the statement that ends a turn returns.
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
# What a driver may report of each effect; each of them may be broken off.
Interruption: TypeAlias = PersonStopped | WorkerStopping
ModelCallEvent: TypeAlias = ModelReplied | CallFailed | MessagesArrived
ToolCallEvent: TypeAlias = ToolReturned | CallFailed
