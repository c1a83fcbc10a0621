"""The work of each working and closing state of a turn, in the order of the states. Three states share `restart_round`.

A function takes the event that led into its state and returns the event that ends the state. A test compares the annotations with
the table in `turn_states`: the parameter type has to list every event that leads into the state, and the return type every event
that can end the state, including events that `turn_failures` makes of exceptions. FailureMet and FencePassed can end any working
state, so a return type lists them only if the function itself returns them.
"""

from collections.abc import Callable, Mapping
from typing import Final

from apps.conversations.rules import ToolCall
from apps.governance.database.actor_transaction import acting_as
from apps.llm.model_backend import BackendError, ModelReply, ToolUse
from apps.runtime.kill_switch_checks import is_taken_over
from apps.runtime.limits.turn_budgets import DayBudgetSpent
from apps.runtime.models import ToolStep
from apps.runtime.sessions.prompt_cache_ledger import build_call_notes
from apps.runtime.tools.toolbox import UNKNOWN_OUTCOME, CallOutcome, ExternalCall
from apps.runtime.turn_store.journal_rows import call_row, tool_row
from apps.runtime.turn_store.resume import JournaledCall, find_resume_point
from apps.runtime.turn_store.turn_journal import ClosedTurn, RenderedUserTurn, lock_turn, postpone
from apps.runtime.turns.circuit_breaker_store import allow_call, record_failure, record_success
from apps.runtime.turns.interruptions import (
    postpone_after_error,
    postpone_stopped,
    restart_turn,
    shorten_history,
    wait_for_breaker,
)
from apps.runtime.turns.model_loop import refuse_unusable_reply, unusable_stop
from apps.runtime.turns.turn_completion import (
    FinishedReply,
    cancel_turn,
    deliver_reply,
    fail_turn,
    record_call_outcome,
    wait_for_budget,
)
from apps.runtime.turns.turn_events import (
    BudgetExhausted,
    CallFailed,
    CallPlanned,
    CallsDelayed,
    FailureMet,
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
from apps.runtime.turns.turn_progress import AskModel, TurnProgress
from apps.runtime.turns.turn_setup import refuse_exhausted_turn, set_up_turn
from apps.runtime.turns.turn_states import TurnState
from apps.runtime.turns.user_turn import render_claimed_turn


def prepare_turn(
    turn: TurnProgress, event: TurnStarted | RoundRestarted
) -> ReadyToCall | ReplyResumed | PersonStopped | CallsDelayed | BudgetExhausted:
    """Render the user turn, open or find the session, and replay the journal. A new round stays in its session."""
    claimed = turn.claimed
    turn.user_turn = (
        RenderedUserTurn.kept(claimed.asked) if claimed.asked else render_claimed_turn(claimed, actor=turn.system)
    )
    if claimed.conversation.is_held or (isinstance(event, RoundRestarted) and not event.may_go_on):
        return PersonStopped()
    refuse_exhausted_turn(claimed)
    behind = find_resume_point(claimed.kept)
    if behind.last is None and not turn.is_probe:
        turn.is_probe = allow_call(claimed, actor=turn.system)
    frozen = turn.loop.account.frozen if isinstance(event, RoundRestarted) else None
    turn.loop, turn.tools = set_up_turn(claimed, turn.user_turn, turn.toolbox, frozen, system=turn.system)
    turn.loop.voids = behind.voids
    for step in behind.steps:
        turn.loop.add_step(step)
        turn.tools.count_calls(step.calls)
    turn.claimed = claimed.begun
    if behind.last is None:
        return ReadyToCall()
    turn.reply, turn.results = behind.last, dict(behind.calls)
    turn.tools.count_calls(kept.call for kept in turn.results.values() if not kept.is_open)
    return ReplyResumed()


def plan_call(
    turn: TurnProgress, _event: ReadyToCall | StepRecorded | NothingArrived
) -> CallPlanned | ModelUnavailable | BudgetExhausted:
    """Build the next request to the model."""
    turn.effect = AskModel(turn.loop.request(), turn.claimed.terms.reached)
    return CallPlanned()


def read_reply(
    turn: TurnProgress, event: ModelReplied | ReplyResumed
) -> ReplyCompleted | ReplyContinues | HistoryTooLong:
    """Record the cost of a new reply, and decide whether it is final, calls tools or was cut short by the context window."""
    if isinstance(event, ModelReplied):
        _account_for_reply(turn, event.reply)
    reply = turn.current_reply
    if reply.is_void:
        failure = unusable_stop(reply)
        return HistoryTooLong(failure.code, str(failure))
    refuse_unusable_reply(reply, may_be_empty=turn.claimed.may_be_silent or turn.loop.has_spoken_to_agents)
    if not reply.goes_on:
        return ReplyCompleted()
    turn.loop.refuse_after_last_call()
    return ReplyContinues()


def run_tools(turn: TurnProgress, event: ReplyContinues | ToolReturned) -> ToolCallBegun | ToolsAnswered:
    """Make the tool calls of the reply in order, up to the next external call."""
    if isinstance(event, ToolReturned):
        _record_outcome(turn, event.call.step, event.call.place, event.outcome, event.call.begun)
    for place, wanted in enumerate(turn.current_reply.uses):
        known = turn.results.get(place)
        if known and not known.is_open:
            continue
        external = _repeat_call(turn, place, wanted, known) if known else _call_tool(turn, place, wanted)
        if external:
            turn.effect = external
            return ToolCallBegun()
    return ToolsAnswered()


def record_step(turn: TurnProgress, _event: ToolsAnswered) -> StepRecorded | MessagesArrived | PersonStopped:
    """Write the reply and its tool results into the journal."""
    calls = tuple(turn.results[place].call for place in sorted(turn.results))
    turn.loop.add_step(turn.current_reply.with_calls(calls))
    found = turn.record_steps(turn.loop.asking)
    if not found.may_go_on:
        return PersonStopped()
    return MessagesArrived() if found.new_messages else StepRecorded()


def deliver(
    turn: TurnProgress, _event: ReplyCompleted | NothingArrived
) -> ClosedTurn | MessagesArrived | PersonStopped:
    """Send the reply, make a draft of it or only record it, in the commit that ends the turn."""
    if turn.user_turn is None:
        raise ValueError("A turn replies to its user turn.")
    reply = turn.current_reply
    steps = [*turn.loop.steps, reply.with_calls(())]
    assembled = turn.loop.account.frozen.assembled
    finished = FinishedReply(turn.claimed, turn.user_turn, steps, assembled, turn.new_calls, reply.is_cut)
    return deliver_reply(finished, actor=turn.system)


def restart_round(turn: TurnProgress, _event: MessagesArrived) -> RoundRestarted | NothingArrived:
    """Begin a new round with all messages that have arrived, unless the turn did something that must not be repeated."""
    restarted = restart_turn(turn.claimed, turn.new_calls, turn.new_tools, actor=turn.system)
    if restarted is None:
        return NothingArrived()
    turn.begin_round(restarted.claimed)
    return RoundRestarted(restarted.may_go_on)


def record_call_failure(turn: TurnProgress, event: CallFailed) -> HistoryTooLong | ModelUnavailable:
    """Record the failed call in the circuit breaker, then raise its error, which the machine maps to an event."""
    if isinstance(event.error, BackendError):
        record_failure(turn.claimed, event.error, is_probe=turn.is_probe, actor=turn.system)
    raise event.error


def shorten_turn_history(turn: TurnProgress, event: HistoryTooLong) -> TurnReleased | FailureMet:
    """Release the turn to be claimed again at once with half of the history. It fails if the history cannot be halved again."""
    if shorten_history(turn.claimed, turn.new_calls, turn.loop.asking + 1, actor=turn.system):
        return TurnReleased(more_waits=True)
    return FailureMet(event.code, event.sentence)


def stop_turn(turn: TurnProgress, _event: PersonStopped) -> ClosedTurn | TurnReleased:
    """Cancel the turn if a person took the conversation over; otherwise store its paid steps and postpone it."""
    if is_taken_over(turn.claimed.conversation, actor=turn.system):
        return cancel_turn(turn.claimed, turn.user_turn, turn.new_calls, actor=turn.system)
    if turn.new_calls:
        turn.record_steps(turn.loop.asking)
    postpone_stopped(turn.claimed, actor=turn.system)
    return TurnReleased()


def release_turn(
    turn: TurnProgress, event: ModelUnavailable | CallsDelayed | BudgetExhausted | WorkerStopping
) -> TurnReleased:
    """Release the turn until its next attempt. When the worker shuts down, the turn is due at once and otherwise unchanged."""
    match event:
        case ModelUnavailable(error):
            postpone_after_error(turn.claimed, error, actor=turn.system)
        case CallsDelayed(breaker):
            wait_for_breaker(turn.claimed, breaker, actor=turn.system)
        case BudgetExhausted():
            wait_for_budget(turn.claimed, DayBudgetSpent(), actor=turn.system)
        case WorkerStopping():
            row = turn.row
            postpone(row, row.failure_code, row.failure, 0, row.failed_calls, actor=turn.system)
    return TurnReleased()


def close_failed_turn(turn: TurnProgress, event: FailureMet) -> ClosedTurn:
    """End the turn without a reply, and ask a person."""
    return fail_turn(turn.claimed, turn.user_turn, turn.new_calls, event.code, event.sentence, actor=turn.system)


# The function of each working and closing state. Each takes only some events, which the type of a mapping cannot express.
WORK: Final[Mapping[TurnState, Callable[..., MachineEvent]]] = {
    TurnState.PREPARING: prepare_turn,
    TurnState.PLANNING_CALL: plan_call,
    TurnState.READING_REPLY: read_reply,
    TurnState.RUNNING_TOOLS: run_tools,
    TurnState.RECORDING_STEP: record_step,
    TurnState.DELIVERING: deliver,
    TurnState.INTERRUPTED_CALL: restart_round,
    TurnState.INTERRUPTED_STEP: restart_round,
    TurnState.INTERRUPTED_REPLY: restart_round,
    TurnState.RECORDING_FAILURE: record_call_failure,
    TurnState.SHORTENING_HISTORY: shorten_turn_history,
    TurnState.STOPPING: stop_turn,
    TurnState.RELEASING: release_turn,
    TurnState.FAILING: close_failed_turn,
}


def _account_for_reply(turn: TurnProgress, reply: ModelReply) -> None:
    """Build the journal row of a reply and count its cost. The row is written with the step, or when the turn ends."""
    account = turn.loop.account
    planned = account.planned
    if planned is None:
        raise ValueError("A reply came to a turn that has asked nothing.")
    message = turn.loop.take_reply(reply)
    notes = build_call_notes(planned, reply, account)
    account.keep(planned, reply)
    record_success(turn.claimed, is_probe=turn.is_probe, actor=turn.system)
    user_turn = turn.user_turn.stored if turn.user_turn and message.number == 1 else None
    turn.new_calls = [call_row(message, reply, notes, user_turn, account.rates)]
    turn.claimed.money.pay(account.cost(reply))
    turn.is_probe, turn.reply, turn.results = False, message, {}


def _call_tool(turn: TurnProgress, place: int, wanted: ToolUse) -> ExternalCall | None:
    """Call a built-in tool and keep its result. For an external tool, record the start of the call and return the call."""
    use = turn.tools.resolve_route(wanted)
    external = _external_call(turn, place, use, is_begun=False)
    if refused := turn.tools.refuse_call(use):
        _keep_result(turn, place, refused, ToolStep.RepeatSafety.READ_ONLY)
    elif external:
        return _begin_external_call(turn, external)
    elif turn.tools.builtin_tools[use.name].reads:
        _keep_result(turn, place, turn.tools.call_builtin_tool(use), ToolStep.RepeatSafety.READ_ONLY)
    else:
        with acting_as(turn.system):
            lock_turn(turn.row)
            _keep_result(turn, place, turn.tools.call_builtin_tool(use), ToolStep.RepeatSafety.TRANSACTIONAL)
            turn.record_steps(turn.current_reply.number)
    return None


def _begin_external_call(turn: TurnProgress, call: ExternalCall) -> ExternalCall | None:
    """Record a call before it is made, in one commit with the approval it uses up. None if the approval was withdrawn."""
    with turn.tools.begin_external_call(call.use, turn.row, turn.system) as withheld:
        if withheld:
            _keep_result(turn, call.place, withheld, ToolStep.RepeatSafety.READ_ONLY)
            return None
        begun = call.begun, call.tool.repeat_safety, ToolStep.State.STARTED
        turn.new_tools.append(tool_row(call.step, call.place, *begun))
        turn.record_steps(call.step)
    return call


def _repeat_call(turn: TurnProgress, place: int, wanted: ToolUse, known: JournaledCall) -> ExternalCall | None:
    """Return a call without a recorded outcome, to be made again if that is safe; otherwise record its outcome as unknown."""
    external = _external_call(turn, place, turn.tools.resolve_route(wanted), is_begun=True)
    if external and known.may_be_repeated and external.tool.repeat_safety is not ToolStep.RepeatSafety.UNSAFE:
        return external
    _record_outcome(turn, turn.current_reply.number, place, UNKNOWN_OUTCOME, known.call)
    return None


def _external_call(turn: TurnProgress, place: int, use: ToolUse, *, is_begun: bool) -> ExternalCall | None:
    tool = turn.tools.find_external_tool(use, is_begun=is_begun)
    if tool is None:
        return None
    step = turn.current_reply.number
    return ExternalCall(tool, step, place, use, f"{turn.row.pk}:{turn.row.round}:{step}:{place}")


def _record_outcome(turn: TurnProgress, step: int, place: int, outcome: CallOutcome, begun: ToolCall) -> None:
    """Write the outcome of an external call at once. If the outcome is unknown, a person is asked."""
    outcome = UNKNOWN_OUTCOME if outcome.is_unknown else outcome
    record_call_outcome(turn.claimed, (step, place), outcome, begun.name, actor=turn.system)
    answered = outcome.answering(begun)
    turn.tools.count_calls([answered])
    turn.results[place] = JournaledCall(answered)


def _keep_result(turn: TurnProgress, place: int, call: ToolCall, repeat_safety: ToolStep.RepeatSafety) -> None:
    """Keep a tool result in memory. Its row is written with the step."""
    turn.new_tools.append(tool_row(turn.current_reply.number, place, call, repeat_safety, ToolStep.State.DONE))
    turn.results[place] = JournaledCall(call)
