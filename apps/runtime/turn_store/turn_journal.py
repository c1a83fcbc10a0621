"""The turn's journal: all writes of a turn after its claim, up to the statement that closes it.

A worker holds a turn by its fence, a number that each claim raises by one. Every statement of this module first locks the turn's
row, on condition that the fence is still the worker's, and checks and writes in the same statement. So if another worker has
claimed the turn, the statement finds no row and writes nothing. The function then raises `FenceLost`; only `postpone` has no
effect instead. Times are those of the statement by the database's clock, since `now()` would be the start of the transaction.

The statement that writes a model call also counts its cost in `Spend`, which is read when a turn is claimed and when its steps
are recorded. The statements are in `queries/`, with comments.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from django.conf import settings
from django.db import IntegrityError, connection

from apps.conversations.models import Conversation, Message
from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as, execute_as
from apps.governance.database.sql_files import load_query
from apps.governance.stored_text import storable_text
from apps.llm.model_backend import Json, JsonObject
from apps.runtime.kill_switch_checks import STOPS_ANSWERING, STOPS_SENDING, StoppedByPerson
from apps.runtime.limits.turn_limits import RESTARTS_PER_TURN
from apps.runtime.models import Session, ToolStep, Turn
from apps.runtime.tools.toolbox import UNKNOWN_OUTCOME, CallOutcome
from apps.runtime.turn_store.journal_rows import cost_of, is_first_write, message_rows, without_transcript
from apps.runtime.turn_store.model_steps import TurnStep, parse_tool_calls, replayed_message, skills_read
from apps.runtime.turn_store.turn_claim import TurnClaim
from apps.telemetry.product_metrics import TURNS

LOCK_TURN: Final = load_query("apps/runtime/turn_store/queries/lock_turn.sql")
ENTER_SESSION: Final = load_query("apps/runtime/turn_store/queries/enter_session.sql")
RECORD_STEPS: Final = load_query("apps/runtime/turn_store/queries/record_steps.sql")
END_CALL: Final = load_query("apps/runtime/turn_store/queries/end_tool_call.sql")
RESTART: Final = load_query("apps/runtime/turn_store/queries/restart_turn.sql")
TURNS_TO_RESTART: Final = load_query("apps/runtime/turn_store/queries/find_turns_to_restart.sql")
SHORTEN_HISTORY: Final = load_query("apps/runtime/turn_store/queries/shorten_history.sql")
POSTPONE: Final = load_query("apps/runtime/turn_store/queries/postpone_turn.sql")
EXTEND_LEASES: Final = load_query("apps/runtime/turn_store/queries/extend_leases.sql")
CLOSE_TURN: Final = load_query("apps/runtime/turn_store/queries/close_turn.sql")


class FenceLost(Exception):
    """Another worker has claimed the turn, so this one may not write any more."""

    code = "fence_lost"

    def __init__(self, turn: Turn) -> None:
        super().__init__(f"Turn {turn.pk} was taken over.")


@dataclass(frozen=True, slots=True)
class RenderedUserTurn:
    """The user turn as sent to the model, and the owners of its bytes."""

    wire: JsonObject
    segments: Mapping[str, object]

    @property
    def stored(self) -> dict[str, object]:
        """The form that the first step stores. The segments are stored as text, which is shorter for many small numbers."""
        return {"api_message": self.wire, "segments": json.dumps(self.segments, separators=(",", ":"))}

    @classmethod
    def kept(cls, stored: JsonObject) -> "RenderedUserTurn":
        """Parse the stored form."""
        wire, segments = stored["api_message"], stored["segments"]
        # Earlier releases stored the segments as JSON.
        segments = json.loads(segments) if isinstance(segments, str) else segments
        if not isinstance(wire, dict) or not isinstance(segments, dict):
            raise TypeError("What a turn asked is an object with its owners.")
        return cls(wire, segments)


@dataclass(frozen=True, slots=True)
class TurnEnd:
    """The status and outcome of an ended turn, with the code and sentence of a failure."""

    status: Turn.Status
    outcome: Turn.Outcome
    code: str = ""
    sentence: str = ""


class NewMessagesArrived(Exception):
    """The customer wrote again, so the turn should restart before anything is sent."""

    code = "new_messages"


@dataclass(frozen=True, slots=True)
class WriteResult:
    """Facts that a write found: if the turn may go on, new messages arrived or sending is paused, and the day's budget left."""

    may_go_on: bool
    new_messages: bool
    day_left: int | None = None
    is_sending_paused: bool = False


@dataclass(frozen=True, slots=True)
class ClosedTurn:
    """The result of ending a turn: whether the conversation needs another one."""

    more_waits: bool


REPLIED = TurnEnd(Turn.Status.DONE, Turn.Outcome.REPLIED)


def lock_turn(turn: Turn) -> None:
    """Lock the turn for a transaction of several statements. The caller acts as the system."""
    with connection.cursor() as cursor:
        cursor.execute(LOCK_TURN, _fence_parameters(turn))
        if cursor.fetchone() is None:
            raise FenceLost(turn)


def enter_session(turn: Turn, session: Session, *, actor: Actor) -> None:
    """Record the session that the turn runs in. A resumed turn stays in its session."""
    if not execute_as(actor, ENTER_SESSION, {**_fence_parameters(turn), "session": session.pk}):
        raise FenceLost(turn)
    turn.session = session


def read_history(conversation: Conversation, *, actor: Actor) -> list[JsonObject]:
    """The API messages of the transcript, as they were sent."""
    with acting_as(actor):
        rows = Message.objects.filter(conversation=conversation).exclude(api_message=None).order_by("position")
        history_rows = list(rows.values_list("tool_calls", "api_message"))
        before = [None, *(calls for calls, _ in history_rows)]
        return [
            replayed_message(wire, parse_tool_calls(calls))
            for calls, (_, wire) in zip(before, history_rows, strict=False)
            if wire is not None
        ]


def record_steps(
    turn: Turn, calls: Sequence[JsonObject], tools: Sequence[JsonObject], asking: int, *, actor: Actor
) -> WriteResult:
    """Write steps and extend the lease; `asking` is the number of the next model call."""
    given = {
        **_lease_parameters(turn),
        **_step_parameters(calls, tools),
        "asking": asking,
        "restarts": _restarts_allowed(turn),
    }
    rows = execute_as(actor, RECORD_STEPS, given)
    if not rows:
        raise FenceLost(turn)
    [(may_go_on, new_messages, day_left, is_sending_paused)] = rows
    left = None if day_left is None else day_left - cost_of(calls)
    return WriteResult(may_go_on, new_messages, left, is_sending_paused)


def restart(turn: Turn, calls: Sequence[JsonObject], tools: Sequence[JsonObject], *, actor: Actor) -> WriteResult:
    """Begin a new round with the messages that arrived, and write the steps of the last round in the same statement."""
    given = {**_lease_parameters(turn), **_step_parameters(calls, tools), "restarts": _restarts_allowed(turn)}
    rows = execute_as(actor, RESTART, given)
    if not rows:
        raise FenceLost(turn)
    [(has_begun, may_go_on, is_sending_paused)] = rows
    return WriteResult(may_go_on, has_begun, is_sending_paused=is_sending_paused)


def turns_to_restart(turns: Mapping[int, int], *, actor: Actor) -> set[int]:
    """The ids of the turns that should restart; `turns` maps turn ids to fences."""
    given = {"turns": list(turns), "fences": list(turns.values()), "restarts": RESTARTS_PER_TURN}
    return {int(turn_id) for (turn_id,) in execute_as(actor, TURNS_TO_RESTART, given)}


def end_call(turn: Turn, step: int, place: int, outcome: CallOutcome, *, actor: Actor) -> None:
    """Write the outcome of an external call whose start is recorded."""
    state = ToolStep.State.UNKNOWN if outcome.is_unknown else ToolStep.State.DONE
    given = {
        **_lease_parameters(turn),
        "step": step,
        "position": place,
        "state": state.value,
        "result": storable_text(outcome.text),
        "is_error": outcome.is_error,
    }
    if not execute_as(actor, END_CALL, given):
        raise FenceLost(turn)


def close_turn(
    claimed: TurnClaim,
    asked: RenderedUserTurn | None,
    steps: Sequence[TurnStep],
    ending: TurnEnd = REPLIED,
    calls: Sequence[JsonObject] = (),
    stops: Sequence[str] = STOPS_SENDING,
    *,
    actor: Actor,
    rules: Json = None,
) -> ClosedTurn:
    """End a turn: write the last step, the transcript, the reply and the state in one statement.

    Raises `StoppedByPerson` if a kill switch of a kind in `stops` is on, a colleague has taken the conversation over, or the send
    rules differ from `rules`. Raises `NewMessagesArrived` if the turn should restart. A turn that is given up ends in any case.
    If a person writes to the transcript at the same time, the statement is repeated with the next free position.
    """
    has_replied = ending.outcome is Turn.Outcome.REPLIED
    # The journal's rows leave out the fields that the same commit writes into the transcript and the turn's row.
    last_calls = without_transcript(calls, has_replied=has_replied)
    is_user_turn_unwritten = asked is not None and is_first_write(calls)
    given = {
        **_closing_parameters(claimed, asked, steps, ending),
        **_step_parameters(last_calls, ()),
        "segments": _json(asked.segments) if asked and is_user_turn_unwritten else None,
        "stops": list(stops),
        "rules": None if rules is None else _json(rules),
    }
    try:
        [row] = execute_as(actor, CLOSE_TURN, given)
    except IntegrityError:
        [row] = execute_as(actor, CLOSE_TURN, given)
    has_ended, is_held, is_more_due, has_new_messages = row
    if not has_ended:
        raise _explain_not_closed(is_held, has_new_messages) or FenceLost(claimed.turn)
    TURNS.labels(outcome=ending.outcome.value).inc()
    return ClosedTurn(is_more_due)


def _explain_not_closed(is_held: bool, has_new_messages: bool) -> Exception | None:
    if not is_held:
        return None
    return NewMessagesArrived() if has_new_messages else StoppedByPerson()


def _restarts_allowed(turn: Turn) -> int:
    conversation = turn.conversation
    return RESTARTS_PER_TURN if conversation.agent.begins_anew and not conversation.has_external_agent else 0


def _closing_parameters(
    claimed: TurnClaim, asked: RenderedUserTurn | None, steps: Sequence[TurnStep], ending: TurnEnd
) -> dict[str, Any]:
    return {
        **_lease_parameters(claimed.turn),
        "conversation": claimed.conversation.pk,
        "agent": claimed.agent.pk,
        "skill_reads": _json(_skill_reads(claimed, steps)),
        "messages": _json(_messages(claimed, asked, steps, ending)),
        "status": ending.status.value,
        "outcome": ending.outcome.value,
        "code": ending.code,
        "failure": ending.sentence,
        "lost": UNKNOWN_OUTCOME.text,
        "restarts": _restarts_allowed(claimed.turn) if ending.status is Turn.Status.DONE else 0,
    }


def postpone(turn: Turn, code: str, sentence: str, seconds: float, tries: int = 0, *, actor: Actor) -> None:
    """Release the turn until its next attempt, when a sweep finds it."""
    delay = timedelta(seconds=seconds)
    given = {**_fence_parameters(turn), "delay": delay, "failed_calls": tries, "code": code, "failure": sentence}
    execute_as(actor, POSTPONE, given)


def extend_leases(turns: Mapping[int, int], *, actor: Actor) -> dict[int, bool]:
    """Extend the leases of turns; `turns` maps turn ids to fences. Returns the turns still held, and whether each may go on."""
    given = {
        "turns": list(turns),
        "fences": list(turns.values()),
        "lease": timedelta(seconds=settings.TURN_LEASE_SECONDS),
        "stops": list(STOPS_ANSWERING),
    }
    return {int(turn_id): bool(may_go_on) for turn_id, may_go_on in execute_as(actor, EXTEND_LEASES, given)}


def _fence_parameters(turn: Turn) -> dict[str, Any]:
    return {"turn": turn.pk, "fence": turn.fence}


def _lease_parameters(turn: Turn) -> dict[str, Any]:
    lease = timedelta(seconds=settings.TURN_LEASE_SECONDS)
    stops = {"stops": list(STOPS_ANSWERING), "sending": list(STOPS_SENDING)}
    return {**_fence_parameters(turn), **stops, "lease": lease, "session": turn.session_id}


def _step_parameters(calls: Sequence[JsonObject], tools: Sequence[JsonObject]) -> dict[str, Any]:
    return {"calls": _json(list(calls)), "tools": _json(list(tools))}


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _messages(
    claimed: TurnClaim, asked: RenderedUserTurn | None, steps: Sequence[TurnStep], ending: TurnEnd
) -> list[Json]:
    has_replied = ending.outcome is Turn.Outcome.REPLIED
    wire = asked.wire if asked else None
    return message_rows(claimed.events, wire, claimed.turn.pk, steps, has_replied=has_replied)


def _skill_reads(claimed: TurnClaim, steps: Sequence[TurnStep]) -> list[Json]:
    """The skills read for the answer, with the number of reads of each (R096). Off-the-record turns count nothing."""
    if claimed.conversation.off_the_record:
        return []
    times = Counter(skill_id for step in steps for skill_id in skills_read(step.calls))
    return [{"id": skill_id, "times": count} for skill_id, count in sorted(times.items())]
