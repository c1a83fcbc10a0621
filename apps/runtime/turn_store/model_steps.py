"""What a turn says and hears, in the form in which the database gives it back unchanged."""

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

# What tools gave back stands in the transcript once, with their calls in the row before; what the model is told is made of it.
TOOL_RESULTS_MARK: Final[JsonObject] = {"role": "user"}


@dataclass(frozen=True, slots=True)
class TurnStep:
    """One answer of the model, as it was said, with the tools it called and what they gave back."""

    text: str
    said: JsonObject
    calls: tuple[ToolCall, ...] = ()
    results: JsonObject | None = None


@dataclass(frozen=True, slots=True)
class AssistantMessage:
    """One answer of the model before its tools were called."""

    number: int
    text: str
    wire: JsonObject
    stop_reason: str

    @property
    def uses(self) -> tuple[ToolUse, ...]:
        """The tools it wants called, in its order."""
        content = self.wire["content"] if self.stop_reason == StopReason.TOOL_USE.value else ()
        blocks = [block for block in content if isinstance(block, Mapping)] if isinstance(content, Sequence) else []
        return tuple(_use(block) for block in blocks if block.get("type") == "tool_use")

    @property
    def is_void(self) -> bool:
        """Whether it says nothing that can be used: there was no room left for it."""
        return self.stop_reason == StopReason.CONTEXT_WINDOW_EXCEEDED.value

    @property
    def is_cut(self) -> bool:
        """Whether it was cut off at the length of an answer. No tool it may have begun to call is called."""
        return self.stop_reason == StopReason.MAX_TOKENS.value

    @property
    def goes_on(self) -> bool:
        """Whether the model is asked again after it."""
        return self.stop_reason in {StopReason.TOOL_USE.value, StopReason.PAUSE_TURN.value}

    def with_calls(self, calls: tuple[ToolCall, ...]) -> TurnStep:
        """The whole step, once every tool it called has answered."""
        return TurnStep(self.text, self.wire, calls, tool_results_message(calls) if calls else None)


def _use(block: Mapping[str, Json]) -> ToolUse:
    arguments = block.get("input")
    return ToolUse(str(block["id"]), str(block["name"]), dict(arguments) if isinstance(arguments, Mapping) else {})


def skills_read(calls: Iterable[ToolCall]) -> Iterator[int]:
    """The skills whose approved runbooks these calls gave, once for each call; a look at a draft is no use of it."""
    return (
        whole_number(call.arguments["skill_id"]) for call in calls if not call.is_error and _read_approved_skill(call)
    )


def _read_approved_skill(call: ToolCall) -> bool:
    return call.name == GET_SKILL or (call.name == SKILL_VIEW and json.loads(call.result)["status"] == "approved")


def tool_results_message(calls: tuple[ToolCall, ...]) -> JsonObject:
    """The user message that answers a step's tool calls."""
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
    """A message of the transcript as it was sent; `calls` are those of the row before it."""
    return restore_key_order(_build_results(calls) if wire == TOOL_RESULTS_MARK else wire)


def parse_tool_calls(rows: Iterable[Mapping[str, Any]] | None) -> tuple[ToolCall, ...]:  # Any: JSON as it is stored
    """The tool calls of a transcript's row."""
    return tuple(ToolCall(**row) for row in rows or ())


def canonical_object(value: JsonObject) -> JsonObject:
    """The object as the database will give it back, so that what is sent now and what is replayed later are the same."""
    given_back: JsonObject = canonical_value(_storable(value))  # type: ignore[assignment]  # an object stays one
    return given_back


def restore_key_order(stored: JsonObject) -> JsonObject:
    """What was an object of that form, as the database gave it back: its keys in their order again."""
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
