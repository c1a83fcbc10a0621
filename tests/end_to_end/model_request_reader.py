"""A request to the model, taken apart: what stands in it as prose, and what as data."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from apps.prompt.instruction_texts import EXTRACT_SKILL
from apps.prompt.parsing.system_prompt import parse_system_prompt
from apps.prompt.parsing.user_turn import parse_user_turn
from apps.prompt.prompt_input import EventKind

OWNERS = frozenset({EventKind.OPERATOR, EventKind.SCHEDULE})


@dataclass(frozen=True)
class RequestTexts:
    """The texts of system prompt and user turns; the model's own words and what tools gave it are left out."""

    prose: tuple[str, ...]
    data: tuple[str, ...]
    # Who sent an event, as its header says; a name has no brackets and no line breaks.
    names: tuple[str, ...]


def read_request(body: str) -> RequestTexts:
    """Raises Unreadable for a request the product would not write."""
    request = json.loads(body)
    system = "".join(block["text"] for block in request["system"])
    assert system != EXTRACT_SKILL
    sections = [section for slot in parse_system_prompt(system) for section in slot.sections]
    events = [event for text in _user_texts(request) for event in parse_user_turn(text).events]
    prose = [text for section in sections for text in (section.label, section.prose)]
    data_texts = [text for section in sections for text in texts_of(section.data)]
    return RequestTexts(
        prose=(*prose, *(event.text for event in events if event.kind in OWNERS)),
        names=tuple(name for event in events for name in (event.name, event.key, event.line)),
        data=(*data_texts, *(event.text for event in events if event.kind not in OWNERS)),
    )


def _user_texts(request: dict[str, Any]) -> Iterator[str]:  # Any: a body of the Messages API
    for message in request["messages"]:
        if message["role"] == "user":
            yield from (block["text"] for block in message["content"] if block["type"] == "text")


def texts_of(value: Any) -> Iterator[str]:  # Any: whatever JSON holds
    """Every text in a value, the model's own messages excepted."""
    match value:
        case str():
            yield value
        case {"role": "assistant"}:
            return
        case dict():
            for item in value.values():
                yield from texts_of(item)
        case list() | tuple():
            for item in value:
                yield from texts_of(item)
