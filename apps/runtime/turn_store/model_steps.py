"""The steps of a turn (model answers and tool results), in a form that the database stores and returns unchanged."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from apps.conversations.rules import ToolCall
from apps.governance.stored_text import storable_text
from apps.llm.model_backend import Json, JsonObject, StopReason, ToolUse
from apps.prompt.builtin_tools import GET_SKILL, SKILL_VIEW
from apps.prompt.rendering.data_fences import canonical_value
from apps.runtime.tools.builtin_tool import whole_number

# Marks a transcript message of tool results. The results are stored once, with their calls in the row before, and the message to
# the model is built from that row.
TOOL_RESULTS_MARK: Final[JsonObject] = {"role": "user"}


@dataclass(frozen=True, slots=True)
class TurnStep:
    """An answer of the model, with the tools it called and their results."""

    text: str
    said: JsonObject
    calls: tuple[ToolCall, ...] = ()
    results: JsonObject | None = None


@dataclass(frozen=True, slots=True)
class AssistantMessage:
    """An answer of the model before its tools were called."""

    number: int
    text: str
    wire: JsonObject
    stop_reason: str

    @property
    def uses(self) -> tuple[ToolUse, ...]:
        """The tool calls that the answer requests, in order."""
        content = self.wire["content"] if self.stop_reason == StopReason.TOOL_USE.value else ()
        blocks = [block for block in content if isinstance(block, Mapping)] if isinstance(content, Sequence) else []
        return tuple(_use(block) for block in blocks if block.get("type") == "tool_use")

    @property
    def is_void(self) -> bool:
        """Whether the answer has no usable content, because the prompt left no room for it in the context window."""
        return self.stop_reason == StopReason.CONTEXT_WINDOW_EXCEEDED.value

    @property
    def is_cut(self) -> bool:
        """Whether the answer was cut off at the length limit. Its tool calls are not made."""
        return self.stop_reason == StopReason.MAX_TOKENS.value

    @property
    def goes_on(self) -> bool:
        """Whether another model call follows the answer."""
        return self.stop_reason in {StopReason.TOOL_USE.value, StopReason.PAUSE_TURN.value}

    def with_calls(self, calls: tuple[ToolCall, ...]) -> TurnStep:
        """The complete step, with the results of all tool calls of the answer."""
        return TurnStep(self.text, self.wire, calls, tool_results_message(calls) if calls else None)


def _use(block: Mapping[str, Json]) -> ToolUse:
    arguments = block.get("input")
    return ToolUse(str(block["id"]), str(block["name"]), dict(arguments) if isinstance(arguments, Mapping) else {})


def skills_read(calls: Iterable[ToolCall]) -> Iterator[int]:
    """The ids of the approved skills that these calls returned, one per call. Reading a draft doesn't count as use."""
    return (
        whole_number(call.arguments["skill_id"]) for call in calls if not call.is_error and _read_approved_skill(call)
    )


def _read_approved_skill(call: ToolCall) -> bool:
    return call.name == GET_SKILL or (call.name == SKILL_VIEW and json.loads(call.result)["status"] == "approved")


def tool_results_message(calls: tuple[ToolCall, ...]) -> JsonObject:
    """The user message with the results of a step's tool calls."""
    return canonical_object(_build_results(calls))


def _build_results(calls: Iterable[ToolCall]) -> JsonObject:
    content: list[Json] = [
        {
            "type": "tool_result",
            "tool_use_id": call.call_id,
            "content": call.result,
            **({"is_error": True} if call.is_error else {}),
        }
        for call in calls
    ]
    return {"role": "user", "content": content}


def replayed_message(wire: JsonObject, calls: Iterable[ToolCall]) -> JsonObject:
    """A transcript message as it was sent to the model; `calls` are the tool calls of the row before."""
    return restore_key_order(_build_results(calls) if wire == TOOL_RESULTS_MARK else wire)


def parse_tool_calls(rows: Iterable[Mapping[str, Any]] | None) -> tuple[ToolCall, ...]:  # Any: JSON as it is stored
    """The tool calls of a transcript row."""
    return tuple(ToolCall(**row) for row in rows or ())


def canonical_object(value: JsonObject) -> JsonObject:
    """The object in the form that the database returns, so that a later replay equals the message sent now."""
    given_back: JsonObject = canonical_value(_storable(value))  # type: ignore[assignment]  # an object stays one
    return given_back


def restore_key_order(stored: JsonObject) -> JsonObject:
    """A canonical object that was read from the database, with its keys in the original order."""
    in_order: JsonObject = canonical_value(stored)  # type: ignore[assignment]  # an object stays one
    return in_order


def _storable(value: Json) -> Json:
    match value:
        case str():
            return storable_text(value)
        case dict():
            return {storable_text(key): _storable(item) for key, item in value.items()}
        case list():
            return [_storable(item) for item in value]
        case _:
            return value
