"""The states of a turn and the table of its transitions.

A turn is a state machine. `TRANSITIONS` has the next state for each pair of state and event. A pair that is not in the table is
a programming error. There are four kinds of states:

- A *working* state does its work at once: a few short transactions, then one event. A function in `turn_work` does the work of
  each state, and `turn_machine` calls these functions one after the other until the turn waits or is over. They do not call each
  other.
- A *waiting* state has an effect: a model call or an external tool call. A driver performs the effect and reports the event.
  There are two drivers: `worker/engine.py` runs thousands of turns on an event loop, `worker/sync_driver.py` runs one turn in a
  thread. The machine itself never waits, and no transaction is open while a turn waits, so a waiting turn costs memory but no
  thread and no database connection.
- A *closing* state ends or releases the turn. The only failure that it handles is a lost fence.
- A *final* state ends the machine. The turn itself may continue later: a released turn is claimed again when it is due.

Only failures are raised as exceptions. `TurnMachine._perform` is the one place that turns an exception of a state's work into an
event. Database errors are raised again, because nothing can be written without the database; another worker claims the turn when
its lease has expired. If a worker dies in any state, the turn is as its last write left it. The next claim starts again in
CLAIMED and replays the journal.
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
    """The state of a turn while a worker holds it."""

    CLAIMED = "claimed"  # waits for its worker to begin
    PREPARING = "preparing"  # renders the user turn, enters the session, replays the journal
    PLANNING_CALL = "planning_call"  # builds the next request within the limits of the turn
    CALLING_MODEL = "calling_model"  # waits for the model
    READING_REPLY = "reading_reply"  # decides whether the reply is final or calls tools
    RUNNING_TOOLS = "running_tools"  # makes the tool calls of a reply in order
    CALLING_TOOL = "calling_tool"  # waits for an external tool
    RECORDING_STEP = "recording_step"  # writes the reply and its tool results
    DELIVERING = "delivering"  # sends the reply, makes a draft of it, or only records it
    INTERRUPTED_CALL = "interrupted_call"  # messages arrived during the model call
    INTERRUPTED_STEP = "interrupted_step"  # messages arrived before the step was recorded
    INTERRUPTED_REPLY = "interrupted_reply"  # messages arrived before the reply was delivered
    RECORDING_FAILURE = "recording_failure"  # records a failed call in the circuit breaker
    SHORTENING_HISTORY = "shortening_history"  # leaves half of the history out for the next attempt
    STOPPING = "stopping"  # stores the paid steps and postpones the turn, or cancels it if a person took over
    RELEASING = "releasing"  # releases the turn until its next attempt
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
    """An event occurred in a state that has no transition for it, which is a programming error."""

    def __init__(self, state: TurnState, event: MachineEvent) -> None:
        super().__init__(f"A turn that is {state.value} takes no {type(event).__name__}.")


def takes(state: TurnState, event: MachineEvent) -> bool:
    """Whether the state has a transition for the event."""
    return (state, type(event)) in TRANSITIONS


def next_state(state: TurnState, event: MachineEvent) -> TurnState:
    """The next state. Raises UnexpectedEvent if the table has none."""
    if not takes(state, event):
        raise UnexpectedEvent(state, event)
    return TRANSITIONS[state, type(event)]
