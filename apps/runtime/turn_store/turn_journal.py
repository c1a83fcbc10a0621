"""The turn's journal: every write of a turn after its claim, up to the statement that closes it.

A worker holds a turn by its fence: the number that each claim raises by one. Every statement here begins at the turn's row, locked
if the fence is still the worker's, and locks, checks and writes at once. So a worker that was overtaken cannot act between a check
and a write: it gets no row. Writes that a turn depends on then raise `FenceLost`; `postpone` of a turn that is lost changes
nothing. Times are the statement's by the database's clock, for `now()` would be the
transaction's.

Spend is counted by the statement that writes a model call. It is read when a turn is claimed and when its steps are recorded.
The statements are in `queries/`, each with its reasons.
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
    """Another worker took the turn over; whatever this one still wants to write is void."""

    code = "fence_lost"

    def __init__(self, turn: Turn) -> None:
        super().__init__(f"Turn {turn.pk} was taken over.")


@dataclass(frozen=True, slots=True)
class RenderedUserTurn:
    """The user turn as it is sent, and whose words each of its bytes is."""

    wire: JsonObject
    segments: Mapping[str, object]

    @property
    def stored(self) -> dict[str, object]:
        """As the first step keeps it. Of many small numbers, text is the shorter form."""
        return {"api_message": self.wire, "segments": json.dumps(self.segments, separators=(",", ":"))}

    @classmethod
    def kept(cls, stored: JsonObject) -> "RenderedUserTurn":
        """As it was sent when the turn began."""
        wire, segments = stored["api_message"], stored["segments"]
        # Of an earlier release it is no text.
        segments = json.loads(segments) if isinstance(segments, str) else segments
        if not isinstance(wire, dict) or not isinstance(segments, dict):
            raise TypeError("What a turn asked is an object with its owners.")
        return cls(wire, segments)


@dataclass(frozen=True, slots=True)
class TurnEnd:
    """How a turn ends, with the words a failure is told by."""

    status: Turn.Status
    outcome: Turn.Outcome
    code: str = ""
    sentence: str = ""


class NewMessagesArrived(Exception):
    """The customer went on writing, and the turn should begin anew before anything leaves."""

    code = "new_messages"


@dataclass(frozen=True, slots=True)
class WriteResult:
    """What a write found: whether the turn may go on, the customer has said more, and sending is paused; and the day's money."""

    may_go_on: bool
    new_messages: bool
    day_left: int | None = None
    is_sending_paused: bool = False


@dataclass(frozen=True, slots=True)
class ClosedTurn:
    """What an ended turn leaves: whether the conversation waits for another one."""

    more_waits: bool


REPLIED = TurnEnd(Turn.Status.DONE, Turn.Outcome.REPLIED)


def lock_turn(turn: Turn) -> None:
    """Lock the turn for a transaction of several statements; whoever calls acts as the system already."""
    with connection.cursor() as cursor:
        cursor.execute(LOCK_TURN, _fence_parameters(turn))
        if cursor.fetchone() is None:
            raise FenceLost(turn)


def enter_session(turn: Turn, session: Session, *, actor: Actor) -> None:
    """Note which session the turn runs in; a resumed turn keeps it."""
    if not execute_as(actor, ENTER_SESSION, {**_fence_parameters(turn), "session": session.pk}):
        raise FenceLost(turn)
    turn.session = session


def read_history(conversation: Conversation, *, actor: Actor) -> list[JsonObject]:
    """The API messages of earlier turns, as they were sent."""
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
    """Write steps and extend the lease; `asking` is the model call that comes next."""
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
    """Begin a new round with what arrived meanwhile, in one statement with what is known of the round before, or not at all."""
    given = {**_lease_parameters(turn), **_step_parameters(calls, tools), "restarts": _restarts_allowed(turn)}
    rows = execute_as(actor, RESTART, given)
    if not rows:
        raise FenceLost(turn)
    [(has_begun, may_go_on, is_sending_paused)] = rows
    return WriteResult(may_go_on, has_begun, is_sending_paused=is_sending_paused)


def turns_to_restart(turns: Mapping[int, int], *, actor: Actor) -> set[int]:
    """Which of the turns, given with their fences, should begin anew."""
    given = {"turns": list(turns), "fences": list(turns.values()), "restarts": RESTARTS_PER_TURN}
    return {int(turn_id) for (turn_id,) in execute_as(actor, TURNS_TO_RESTART, given)}


def end_call(turn: Turn, step: int, place: int, outcome: CallOutcome, *, actor: Actor) -> None:
    """Write what came of an outside call that was begun."""
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
    """End a turn: last step, transcript, reply and state in one statement, or nothing of it.

    Raises `StoppedByPerson` where one of the `stops` is on, a colleague has the conversation in hand, or the rules for
    sending are no longer `rules`, and `NewMessagesArrived` where the turn should begin anew; a turn that is given up is held
    by nothing. A person may be writing into the transcript at the same time; then its next place is looked up once more.
    """
    has_replied = ending.outcome is Turn.Outcome.REPLIED
    # The journal's rows leave out what the same commit writes into the transcript and the turn's own row.
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
    """Let go of the turn until the next attempt is due; a sweep finds it then."""
    delay = timedelta(seconds=seconds)
    given = {**_fence_parameters(turn), "delay": delay, "failed_calls": tries, "code": code, "failure": sentence}
    execute_as(actor, POSTPONE, given)


def extend_leases(turns: Mapping[int, int], *, actor: Actor) -> dict[int, bool]:
    """Extend the leases of the turns, given with their fences; those still held, and whether they may go on."""
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
    """How often each skill was read for the answer (R096); off the record nothing is counted."""
    if claimed.conversation.off_the_record:
        return []
    times = Counter(skill_id for step in steps for skill_id in skills_read(step.calls))
    return [{"id": skill_id, "times": count} for skill_id, count in sorted(times.items())]
