"""Builds the rows that a turn writes into the journal and the transcript. This module writes nothing itself."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from typing import Any

from apps.conversations.models import InboundEvent, Message
from apps.conversations.rules import ToolCall
from apps.governance.stored_text import storable_text
from apps.llm.model_backend import Json, JsonObject, ModelReply
from apps.llm.prices import NO_RATE_OVERRIDES, RateOverrides, reply_cost_micro_usd
from apps.runtime.models import ToolStep
from apps.runtime.turn_store.model_steps import TOOL_RESULTS_MARK, AssistantMessage, TurnStep, canonical_object

SENDERS = {
    InboundEvent.Kind.MESSAGE: Message.Sender.CUSTOMER,
    InboundEvent.Kind.OPERATOR: Message.Sender.OPERATOR,
    InboundEvent.Kind.SCHEDULE: Message.Sender.OPERATOR,
    InboundEvent.Kind.TASK: Message.Sender.PEER,
    InboundEvent.Kind.ANSWER: Message.Sender.PEER,
    InboundEvent.Kind.PROGRESS: Message.Sender.PEER,
}


@dataclass(frozen=True, slots=True)
class CallNotes:
    """Notes on a model call: when it began, what it should have read from the prompt cache, and what it left in the cache."""

    requested_at: datetime
    agent_prefix_sha256: str
    workspace_prefix_sha256: str
    expected_read_tokens: int
    has_unexpected_miss: bool
    cache_entries: str
    cache_ledger: JsonObject


def cost_of(calls: Sequence[JsonObject]) -> int:
    """The total cost of these calls in micro-dollars, without calls of unknown cost."""
    costs = (call["cost_micro_usd"] for call in calls)
    return sum(cost for cost in costs if isinstance(cost, int))


def call_row(
    message: AssistantMessage,
    reply: ModelReply,
    notes: CallNotes,
    asked: Mapping[str, object] | None,
    rates: RateOverrides = NO_RATE_OVERRIDES,
) -> JsonObject:
    """The journal row of a model's answer. The first row of a round also has the user turn."""
    row: dict[str, Any] = {
        "step": message.number,
        "user_turn": asked,
        "assistant_message": message.wire,
        "text": message.text,
        "model": storable_text(reply.model),
        "is_stand_in": reply.is_stand_in,
        "stop_reason": message.stop_reason,
        "cost_micro_usd": reply_cost_micro_usd(reply, rates),
        **asdict(reply.usage),
        **{noted.name: getattr(notes, noted.name) for noted in fields(notes)},
        "requested_at": notes.requested_at.isoformat(),
    }
    return row


def tool_row(
    step: int, place: int, call: ToolCall, repeat_safety: ToolStep.RepeatSafety, state: ToolStep.State
) -> JsonObject:
    """The journal row of a tool call."""
    return canonical_object(
        {**asdict(call), "step": step, "position": place, "repeat_safety": repeat_safety.value, "state": state.value}
    )


def is_first_write(calls: Sequence[JsonObject]) -> bool:
    """Whether these are the first steps of the round to be written."""
    return not calls or calls[0]["step"] == 1


def without_transcript(calls: Sequence[JsonObject], *, has_replied: bool) -> list[JsonObject]:
    """The last steps of a turn, without the fields that the same commit writes into the transcript and the turn's row."""
    rows = [{**row, "user_turn": None} for row in calls]
    if has_replied and rows:
        rows[-1] |= {"assistant_message": None, "text": ""}
    return rows


def message_rows(
    events: Sequence[InboundEvent],
    wire: JsonObject | None,
    turn_id: int,
    steps: Sequence[TurnStep],
    *,
    has_replied: bool,
) -> list[Json]:
    """The transcript rows of a turn: the events, then the model's answers and tool calls. The last row is the reply."""
    rows = [*_event_rows(events, wire), *_step_rows(turn_id, steps)]
    if has_replied:
        rows[-1]["is_reply"] = True
    return [{**row, "position": position} for position, row in enumerate(rows)]


def _event_rows(events: Sequence[InboundEvent], wire: JsonObject | None) -> list[JsonObject]:
    missing = (event for event in events if not event.is_in_transcript)
    rows = [_row(SENDERS[InboundEvent.Kind(event.kind)], event.text) for event in missing]
    if wire is not None and not rows:
        # The transcript has all events already, so a row that people do not see has the user turn.
        rows = [_row(Message.Sender.TOOL, "")]
    if rows:
        # Several events are one user turn for the model, which is stored with the last one.
        rows[-1]["api_message"] = wire
    return rows


def _step_rows(turn_id: int, steps: Sequence[TurnStep]) -> list[JsonObject]:
    rows: list[JsonObject] = []
    for step in steps:
        calls: list[Json] = [canonical_object(asdict(call)) for call in step.calls]
        rows.append({**_row(Message.Sender.AGENT, step.text), "tool_calls": calls, "api_message": step.said})
        if step.results is not None:
            rows.append({**_row(Message.Sender.TOOL, ""), "api_message": TOOL_RESULTS_MARK})
    return [{**row, "turn_id": turn_id} for row in rows]


def _row(sender: Message.Sender, text: str) -> JsonObject:
    return {
        "sender": sender.value,
        "text": text,
        "tool_calls": [],
        "api_message": None,
        "turn_id": None,
        "is_reply": False,
    }
