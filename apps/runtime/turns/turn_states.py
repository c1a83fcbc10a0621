"""The states of a turn and the table of its transitions.

A turn is a state machine. `TRANSITIONS` says which state follows when an event occurs in a state; a pair that is not in the
table is a programming error. The states are of four kinds:

- A *working* state does its work at once: a few short transactions, then one event. The work of each is a function in
  `turn_work`, and `turn_machine` runs one after the other until the turn waits or is over. No work calls another.
- A *waiting* state has an effect: a call of the model or of an external tool. A driver performs the effect and reports the
  event: `worker/engine.py` on an event loop with thousands of other turns, `worker/sync_driver.py` on one thread. The machine
  itself waits for nothing, and no transaction is open while a turn waits, so a waiting turn costs memory but no thread and no
  database connection.
- A *closing* state writes how the turn leaves this worker, and no failure but a lost fence is handled in it.
- A *final* state ends the machine. The turn's row may live on: a released turn is claimed again once it is due.

Exceptions remain for failures. Whatever the work of a state raises becomes an event in one place, `TurnMachine._perform`. Only
failures of the database itself are raised on: without it nothing can be written, and the lease brings the turn back to a worker.
A worker that dies in any state leaves the turn where its last write left it; the next claim starts again in CLAIMED and replays
the journal.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from apps.runtime.turn_store.turn_journal import ClosedTurn
from apps.runtime.turns.turn_events import (
    BudgetExhausted,
    CallFailed,
    CallPlanned,
    CallsDelayed,
    FailureMet,
    FencePassed,
    HistoryTooLong,
    MachineEvent,
    MessagesArrived,
    ModelReplied,
    ModelUnavailable,
    NothingArrived,
    PersonStopped,
    ReadyToCall,
    ReplyCompleted,
    ReplyContinues,
    ReplyResumed,
    RoundRestarted,
    StepRecorded,
    ToolCallBegun,
    ToolReturned,
    ToolsAnswered,
    TurnReleased,
    TurnStarted,
    WorkerStopping,
)


class TurnState(StrEnum):
    """Where a turn is while one worker holds it."""

    CLAIMED = "claimed"  # waits for its worker to begin
    PREPARING = "preparing"  # renders the user turn, enters the session, replays the journal
    PLANNING_CALL = "planning_call"  # builds the next request within the limits of the turn
    CALLING_MODEL = "calling_model"  # waits for the model
    READING_REPLY = "reading_reply"  # decides what the reply asks for
    RUNNING_TOOLS = "running_tools"  # calls the tools of a reply in their order
    CALLING_TOOL = "calling_tool"  # waits for an external tool
    RECORDING_STEP = "recording_step"  # writes the reply and the results of its tools
    DELIVERING = "delivering"  # sends the reply, lays it before a person, or only notes it
    INTERRUPTED_CALL = "interrupted_call"  # messages arrived while the model was thinking
    INTERRUPTED_STEP = "interrupted_step"  # messages arrived before the step was recorded
    INTERRUPTED_REPLY = "interrupted_reply"  # messages arrived before the reply was delivered
    RECORDING_FAILURE = "recording_failure"  # tells the circuit breaker of a failed call
    SHORTENING_HISTORY = "shortening_history"  # leaves half of the history out for the next attempt
    STOPPING = "stopping"  # keeps what is paid for, or ends the turn for the person who took over
    RELEASING = "releasing"  # gives the turn back until time, an operator or another worker helps
    FAILING = "failing"  # ends the turn without a reply and asks a person
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"
    RELEASED = "released"
    FENCE_LOST = "fence_lost"


S = TurnState

WAITING: Final = (S.CALLING_MODEL, S.CALLING_TOOL)
WORKING: Final = (
    *(S.PREPARING, S.PLANNING_CALL, S.READING_REPLY, S.RUNNING_TOOLS, S.RECORDING_STEP, S.DELIVERING),
    *(S.INTERRUPTED_CALL, S.INTERRUPTED_STEP, S.INTERRUPTED_REPLY, S.RECORDING_FAILURE, S.SHORTENING_HISTORY),
)
CLOSING: Final = (S.STOPPING, S.RELEASING, S.FAILING)
FINAL: Final = (S.DONE, S.FAILED, S.CANCELLED, S.RELEASED, S.FENCE_LOST)

TRANSITIONS: Final[Mapping[tuple[TurnState, type[MachineEvent]], TurnState]] = {
    (S.CLAIMED, TurnStarted): S.PREPARING,
    (S.PREPARING, ReadyToCall): S.PLANNING_CALL,
    (S.PREPARING, ReplyResumed): S.READING_REPLY,
    (S.PREPARING, PersonStopped): S.STOPPING,
    (S.PREPARING, CallsDelayed): S.RELEASING,
    (S.PREPARING, BudgetExhausted): S.RELEASING,
    (S.PLANNING_CALL, CallPlanned): S.CALLING_MODEL,
    (S.PLANNING_CALL, ModelUnavailable): S.RELEASING,
    (S.PLANNING_CALL, BudgetExhausted): S.RELEASING,
    (S.CALLING_MODEL, ModelReplied): S.READING_REPLY,
    (S.CALLING_MODEL, CallFailed): S.RECORDING_FAILURE,
    (S.CALLING_MODEL, MessagesArrived): S.INTERRUPTED_CALL,
    (S.CALLING_MODEL, PersonStopped): S.STOPPING,
    (S.CALLING_MODEL, WorkerStopping): S.RELEASING,
    (S.READING_REPLY, ReplyCompleted): S.DELIVERING,
    (S.READING_REPLY, ReplyContinues): S.RUNNING_TOOLS,
    (S.READING_REPLY, HistoryTooLong): S.SHORTENING_HISTORY,
    (S.RUNNING_TOOLS, ToolCallBegun): S.CALLING_TOOL,
    (S.RUNNING_TOOLS, ToolsAnswered): S.RECORDING_STEP,
    (S.CALLING_TOOL, ToolReturned): S.RUNNING_TOOLS,
    (S.CALLING_TOOL, CallFailed): S.RECORDING_FAILURE,
    (S.CALLING_TOOL, PersonStopped): S.STOPPING,
    (S.CALLING_TOOL, WorkerStopping): S.RELEASING,
    (S.RECORDING_STEP, StepRecorded): S.PLANNING_CALL,
    (S.RECORDING_STEP, MessagesArrived): S.INTERRUPTED_STEP,
    (S.RECORDING_STEP, PersonStopped): S.STOPPING,
    (S.DELIVERING, ClosedTurn): S.DONE,
    (S.DELIVERING, MessagesArrived): S.INTERRUPTED_REPLY,
    (S.DELIVERING, PersonStopped): S.STOPPING,
    (S.INTERRUPTED_CALL, RoundRestarted): S.PREPARING,
    (S.INTERRUPTED_CALL, NothingArrived): S.CALLING_MODEL,
    (S.INTERRUPTED_STEP, RoundRestarted): S.PREPARING,
    (S.INTERRUPTED_STEP, NothingArrived): S.PLANNING_CALL,
    (S.INTERRUPTED_REPLY, RoundRestarted): S.PREPARING,
    (S.INTERRUPTED_REPLY, NothingArrived): S.DELIVERING,
    (S.RECORDING_FAILURE, HistoryTooLong): S.SHORTENING_HISTORY,
    (S.RECORDING_FAILURE, ModelUnavailable): S.RELEASING,
    (S.SHORTENING_HISTORY, TurnReleased): S.RELEASED,
    (S.STOPPING, ClosedTurn): S.CANCELLED,
    (S.STOPPING, TurnReleased): S.RELEASED,
    (S.RELEASING, TurnReleased): S.RELEASED,
    (S.FAILING, ClosedTurn): S.FAILED,
    **{(state, FailureMet): S.FAILING for state in WORKING},
    **{(state, FencePassed): S.FENCE_LOST for state in (*WORKING, *CLOSING)},
}


class UnexpectedEvent(RuntimeError):
    """An event occurred in a state that has no transition for it: an error of the program, never of a turn."""

    def __init__(self, state: TurnState, event: MachineEvent) -> None:
        super().__init__(f"A turn that is {state.value} takes no {type(event).__name__}.")


def takes(state: TurnState, event: MachineEvent) -> bool:
    """Whether the event may occur in this state."""
    return (state, type(event)) in TRANSITIONS


def next_state(state: TurnState, event: MachineEvent) -> TurnState:
    """The state that follows. Raises UnexpectedEvent where the table has none."""
    if not takes(state, event):
        raise UnexpectedEvent(state, event)
    return TRANSITIONS[state, type(event)]
