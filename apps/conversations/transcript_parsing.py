"""Parses chat transcripts from other systems, in OpenAI or Anthropic format, one JSON object per line; pure."""

import hashlib
import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NoReturn, TypeAlias

from apps.conversations.rules import ConversationLine, ToolCall
from apps.prompt.sanitizer.invisible_characters import UNSTORABLE_CHARACTERS

LINE_BYTES: Final = 4_000_000
MOST_MESSAGES: Final = 2_000
ID_CHARACTERS: Final = 200
TEXT_CHARACTERS: Final = 100_000
MOST_REASONS: Final = 5

_SENDERS: Final = {"user": "customer", "assistant": "agent"}
_OUTCOMES: Final = ("solved", "unsolved", "unknown")
_THINKING_BLOCKS: Final = frozenset({"thinking", "redacted_thinking", "reasoning"})
_FAILED: Final = re.compile(r"\s*error\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ImportedTranscript:
    """A finished conversation as another system recorded it, without its system prompt."""

    transcript_id: str
    lines: tuple[ConversationLine, ...]
    outcome: str


@dataclass(frozen=True, slots=True)
class MalformedTranscript:
    """A line that cannot be imported, and the reasons."""

    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _ToolResult:
    text: str
    is_error: bool


@dataclass(frozen=True, slots=True)
class _ParsedMessage:
    sender: str
    text: str
    calls: tuple[ToolCall, ...] = ()


_Step: TypeAlias = "_ParsedMessage | tuple[str, _ToolResult]"


class _UnreadableMessage(ValueError):
    """One message cannot be parsed."""


def parse_line(raw: bytes) -> ImportedTranscript | MalformedTranscript:
    """Parse one line of a JSONL file. A missing id becomes the hash of the line, so that a second import has the same id."""
    if len(raw) > LINE_BYTES:
        return MalformedTranscript((f"The line is longer than {LINE_BYTES} bytes.",))
    try:
        found = _parse_line_object(raw)
        transcript_id, outcome = _read_id(found, raw), _read_outcome(found)
        messages = _read_messages(found)
    except _UnreadableMessage as refusal:
        return MalformedTranscript((str(refusal),))
    return _build_transcript(transcript_id, outcome, messages)


def _parse_line_object(raw: bytes) -> Mapping[str, object]:
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as refusal:
        raise _UnreadableMessage(
            f"The line is not UTF-8: byte {refusal.start} is not part of a character."
        ) from refusal
    return _parse_json_object(text, "The line")


def _parse_json_object(text: str, what: str) -> Mapping[str, object]:
    try:
        found = json.loads(text, parse_constant=_refuse_number, parse_float=_parse_finite)
        storable = _is_storable(found)
    except RecursionError as refusal:
        raise _UnreadableMessage(f"{what} is nested too deeply.") from refusal
    except ValueError as refusal:
        raise _UnreadableMessage(f"{what} is not JSON: {refusal}.") from refusal
    if not isinstance(found, dict):
        raise _UnreadableMessage(f"{what} is JSON but not an object.")
    if not storable:
        raise _UnreadableMessage(f"{what} contains a NUL or half of a surrogate pair, which cannot be stored.")
    return found


def _is_storable(value: object) -> bool:
    match value:
        case str():
            return not UNSTORABLE_CHARACTERS.search(value)
        case dict():
            return all(_is_storable(key) and _is_storable(item) for key, item in value.items())
        case list():
            return all(map(_is_storable, value))
        case _:
            return True


def _refuse_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is not a JSON number")


def _parse_finite(digits: str) -> float:
    number = float(digits)
    return number if math.isfinite(number) else _refuse_number(digits)


def _read_id(found: Mapping[str, object], raw: bytes) -> str:
    given = found.get("id", found.get("transcript_id"))
    if given is None or given == "":
        return hashlib.sha256(raw.strip()).hexdigest()
    if isinstance(given, bool) or not isinstance(given, str | int):
        raise _UnreadableMessage("The id is neither a string nor an integer.")
    if len(str(given)) > ID_CHARACTERS:
        raise _UnreadableMessage(f"The id is longer than {ID_CHARACTERS} characters.")
    return str(given)


def _read_outcome(found: Mapping[str, object]) -> str:
    reward, outcome = found.get("reward"), found.get("outcome")
    if isinstance(reward, int | float):
        return "solved" if reward >= 1 else "unsolved"
    if reward is not None:
        raise _UnreadableMessage("The reward is not a number.")
    if outcome is None:
        return "unknown"
    if outcome not in _OUTCOMES:
        raise _UnreadableMessage(f"The outcome is not one of {', '.join(_OUTCOMES)}.")
    return str(outcome)


def _read_messages(found: Mapping[str, object]) -> list[object]:
    messages = found.get("messages")
    if not isinstance(messages, list):
        raise _UnreadableMessage("There is no list of messages.")
    if len(messages) > MOST_MESSAGES:
        raise _UnreadableMessage(f"There are {len(messages)} messages; at most {MOST_MESSAGES} are allowed.")
    return messages


def _build_transcript(
    transcript_id: str, outcome: str, messages: list[object]
) -> ImportedTranscript | MalformedTranscript:
    steps: list[_Step] = []
    reasons: list[str] = []
    for number, message in enumerate(messages, 1):
        try:
            steps.extend(_parse_message(message))
        except _UnreadableMessage as refusal:
            reasons.append(f"Message {number}: {refusal}")
    lines = _match_results(steps, reasons)
    if not reasons and not any(line.sender == "customer" for line in lines):
        reasons.append("It contains no message of a customer.")
    return (
        MalformedTranscript(tuple(reasons[:MOST_REASONS]))
        if reasons
        else ImportedTranscript(transcript_id, lines, outcome)
    )


def _parse_message(message: object) -> Iterator[_Step]:
    """Yield the text and tool calls of one message, and the results of earlier calls."""
    if not isinstance(message, dict):
        raise _UnreadableMessage("it is not an object.")
    role, content = message.get("role"), message.get("content")
    if role in ("system", "developer"):
        return
    if role == "tool":
        yield _tool_result(message.get("tool_call_id"), content, is_error=message.get("is_error") is True)
        return
    if not isinstance(role, str) or role not in _SENDERS:
        raise _UnreadableMessage(
            f"its role is {str(role)[:40]!r}; it must be user, assistant, tool, system or developer."
        )
    blocks = _blocks(content)
    for block in blocks:
        if block.get("type") == "tool_result":
            yield _tool_result(block.get("tool_use_id"), block.get("content"), is_error=block.get("is_error") is True)
    step = _ParsedMessage(_SENDERS[role], _text_of_blocks(blocks), (*_openai_calls(message), *_anthropic_calls(blocks)))
    if step.text or step.calls:
        yield step


def _blocks(content: object) -> list[Mapping[str, object]]:
    if content is None:
        return []
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if isinstance(content, list) and all(isinstance(block, dict) for block in content):
        return content
    raise _UnreadableMessage("its content is neither a string nor a list of objects.")


def _text_of_blocks(blocks: list[Mapping[str, object]]) -> str:
    text = "\n".join(filter(None, map(_text_of_block, blocks))).strip()
    if len(text) > TEXT_CHARACTERS:
        raise _UnreadableMessage(f"its text has {len(text)} characters; at most {TEXT_CHARACTERS} are allowed.")
    return text


def _text_of_block(block: Mapping[str, object]) -> str:
    """Return the text of a text block, or the kind of any other block in brackets, so that readers notice the block."""
    kind = str(block.get("type"))
    if kind in _THINKING_BLOCKS or kind in {"tool_use", "tool_result"}:
        return ""
    text = block.get("text", block.get("refusal"))
    if isinstance(text, str):
        return text
    if kind in {"text", "input_text", "output_text"}:
        raise _UnreadableMessage("a text block has no text.")
    return f"[{kind[:40]}]"


def _openai_calls(message: Mapping[str, object]) -> Iterator[ToolCall]:
    calls = message.get("tool_calls") or []
    if not isinstance(calls, list):
        raise _UnreadableMessage("its tool calls are not a list.")
    for call in calls:
        function = call.get("function") if isinstance(call, dict) else None
        if not isinstance(function, dict):
            raise _UnreadableMessage("a tool call names no function.")
        yield _tool_call(call.get("id"), function.get("name"), function.get("arguments"))


def _anthropic_calls(blocks: list[Mapping[str, object]]) -> Iterator[ToolCall]:
    for block in blocks:
        if block.get("type") == "tool_use":
            yield _tool_call(block.get("id"), block.get("name"), block.get("input"))


def _tool_call(call_id: object, name: object, arguments: object) -> ToolCall:
    if not (isinstance(call_id, str) and call_id and isinstance(name, str) and name):
        raise _UnreadableMessage("a tool call has no id or no name.")
    if isinstance(arguments, str):
        arguments = _parse_json_object(arguments, f"what {name[:60]} is called with") if arguments.strip() else {}
    if not isinstance(arguments, dict | None):
        raise _UnreadableMessage(f"the arguments of {name[:60]} are not an object.")
    return ToolCall(call_id, name, dict(arguments or {}))


def _tool_result(call_id: object, content: object, *, is_error: bool) -> _Step:
    text = _text_of_blocks(_blocks(content))
    return str(call_id), _ToolResult(text, is_error or bool(_FAILED.match(text)))


def _match_results(steps: list[_Step], reasons: list[str]) -> tuple[ConversationLine, ...]:
    """Return the lines in order, each call with its result. If two calls have the same id, the result goes to the latest."""
    lines: list[ConversationLine] = []
    waiting: dict[str, tuple[int, int]] = {}
    for step in steps:
        if isinstance(step, _ParsedMessage):
            waiting |= {call.call_id: (len(lines), at) for at, call in enumerate(step.calls)}
            lines.append(ConversationLine(step.sender, step.text, step.calls))
            continue
        call_id, answer = step
        place = waiting.pop(call_id, None)
        if place is None:
            reasons.append(
                f"A tool result refers to the call {call_id[:60]!r}, which does not exist or has a result already."
            )
        else:
            lines[place[0]] = _with_result(lines[place[0]], place[1], answer)
    return tuple(lines)


def _with_result(line: ConversationLine, at: int, answer: _ToolResult) -> ConversationLine:
    call = line.tool_calls[at]
    answered_call = ToolCall(call.call_id, call.name, call.arguments, answer.text, answer.is_error)
    return ConversationLine(line.sender, line.text, (*line.tool_calls[:at], answered_call, *line.tool_calls[at + 1 :]))
