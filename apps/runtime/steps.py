"""What a turn says and hears, in the form in which the database gives it back unchanged."""

import json
from dataclasses import dataclass

from apps.conversations.rules import ToolCall
from apps.llm.backend import Json, JsonObject
from apps.prompt.framing import canonical_json


@dataclass(frozen=True, slots=True)
class Step:
    """One answer of the model, as it was said, with the tools it called and what they gave back."""

    text: str
    said: JsonObject
    calls: tuple[ToolCall, ...] = ()
    results: JsonObject | None = None


def results_of(calls: tuple[ToolCall, ...]) -> JsonObject:
    return canonical_object(
        {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": call.call_id,
                    "content": call.result,
                    **({"is_error": True} if call.is_error else {}),
                }
                for call in calls
            ],
        }
    )


def canonical_object(value: JsonObject) -> JsonObject:
    """The object as the database will give it back, so that what is sent now and what is replayed later are the same."""
    ordered: JsonObject = json.loads(canonical_json(_storable(value)))
    return ordered


def storable_text(text: str) -> str:
    """Text without what PostgreSQL cannot hold, NUL and half a surrogate pair; a model may write either."""
    return text.replace("\x00", "").encode(errors="replace").decode()


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
