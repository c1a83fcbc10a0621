"""Parses the transcript in a message, in any form of its lines."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from apps.standin.conversation import json_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from apps.llm.model_backend import Json, JsonObject

CUSTOMER_ROLES = frozenset({"user", "customer", "contact", "end_user"})
# Names are copied into runbooks, so only valid names are accepted.
_NAME = re.compile(r"^[A-Za-z_][A-Za-z0-9_.-]{0,63}$")
_FAILED = re.compile(r"^\s*[\"']?error\b", re.IGNORECASE)
# Closing phrases of simulated customers.
_SILENCE = re.compile(r"#{2,}\w+#{2,}")


@dataclass(frozen=True, slots=True)
class ToolCallStep:
    """One tool call of a transcript, without the values of its arguments."""

    tool_name: str
    argument_names: tuple[str, ...]
    is_error: bool

    def joined_with(self, other: ToolCallStep) -> ToolCallStep:
        names = dict.fromkeys((*self.argument_names, *other.argument_names))
        return ToolCallStep(self.tool_name, tuple(names), self.is_error and other.is_error)


@dataclass(frozen=True, slots=True)
class ToolTranscript:
    """The customer's texts, and the tools that were called."""

    customer_texts: tuple[str, ...]
    steps: tuple[ToolCallStep, ...]
    # Whether a person reported a reply as wrong.
    is_reported: bool = False

    @property
    def first_customer_text(self) -> str:
        return self.customer_texts[0] if self.customer_texts else ""

    @property
    def last_customer_text(self) -> str:
        return self.customer_texts[-1] if self.customer_texts else ""


def read_transcript(text: str) -> ToolTranscript:
    texts: list[str] = []
    steps: list[ToolCallStep] = []
    is_reported = False
    for line in _objects(json_lines(text)):
        is_reported = is_reported or bool(line.get("reported"))
        line_text = _SILENCE.sub("", _line_text(line)).strip()
        if line.get("role") in CUSTOMER_ROLES and line_text:
            texts.append(line_text)
        calls = list(_tool_steps(line))
        steps += calls
        if not calls and _is_failed_result(line):
            _mark_failed(steps, _tool_name(line))
    return ToolTranscript(tuple(texts), tuple(steps), is_reported)


def texts_of_role(role: str, text: str) -> Iterator[str]:
    """Yield the texts of one role."""
    return (_line_text(line) for line in _objects(json_lines(text)) if line.get("role") == role and _line_text(line))


def _objects(values: Iterator[Json]) -> Iterator[JsonObject]:
    """Yield the JSON objects; a line may itself be a JSON string of lines, as in a fence."""
    for value in values:
        if isinstance(value, dict):
            yield value
        elif isinstance(value, str):
            yield from _objects(json_lines(value))
        elif isinstance(value, list):
            yield from _objects(iter(value))


def _line_text(line: JsonObject) -> str:
    value = line.get("text") or line.get("content")
    return value if isinstance(value, str) else ""


def _tool_name(line: JsonObject) -> str:
    value = line.get("tool") or line.get("tool_name") or line.get("name")
    return value if isinstance(value, str) and _NAME.match(value) else ""


def _tool_steps(line: JsonObject) -> Iterator[ToolCallStep]:
    several = line.get("tool_calls")
    for call in several if isinstance(several, list) else [line]:
        if not isinstance(call, dict):
            continue
        function = call.get("function")
        named = function if isinstance(function, dict) else call
        arguments = _arguments(named)
        if _tool_name(named) and arguments is not None:
            names = tuple(name for name in arguments if _NAME.match(name))
            yield ToolCallStep(_tool_name(named), names, _is_failed_result(line))


def _arguments(call: JsonObject) -> JsonObject | None:
    """Return the arguments; an empty object for a call without arguments, None for a line that is not a call."""
    value = call.get("arguments", call.get("input"))
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return None
    return value if isinstance(value, dict) else None


def _is_failed_result(line: JsonObject) -> bool:
    if line.get("is_error") is True:
        return True
    result = line.get("result", _line_text(line) if line.get("role") == "tool" else None)
    return isinstance(result, str) and bool(_FAILED.match(result))


def _mark_failed(steps: list[ToolCallStep], tool_name: str) -> None:
    for index in reversed(range(len(steps))):
        if tool_name in {"", steps[index].tool_name}:
            steps[index] = ToolCallStep(steps[index].tool_name, steps[index].argument_names, is_error=True)
            return
