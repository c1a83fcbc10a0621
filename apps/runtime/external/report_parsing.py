"""Parses an external agent's report on a turn, in the form of the Messages API, within limits; pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from apps.conversations.rules import EVENT_CHARACTERS
from apps.governance.stored_text import storable_text
from apps.llm.model_backend import Json, JsonObject, StopReason, ToolUse, Usage
from apps.runtime.limits.turn_limits import TOOL_CALLS_PER_TURN
from apps.runtime.turn_store.model_steps import canonical_object
from apps.tenants.rules import MOST_STEPS

MOST_TOKENS: Final = 10_000_000
NAME_CHARACTERS: Final = 80
ID_CHARACTERS: Final = 200
RESULT_CHARACTERS: Final = 100_000
FAILURE_CHARACTERS: Final = 500
# The keys of an API message. Keys that this module ignores are listed too, because unknown keys are refused.
_REPLY_KEYS: Final = frozenset({"role", "content", "model", "stop_reason", "usage"})
_IGNORED_KEYS: Final = frozenset({"id", "type", "stop_sequence", "stop_details", "container", "diagnostics"})
_USAGE_COUNTS: Final = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
_USAGE_KEYS: Final = frozenset(
    {*_USAGE_COUNTS, "cache_creation", "service_tier", "server_tool_use", "inference_geo", "output_tokens_details"}
    | {"speed"}
)
_BLOCK_TYPES: Final = frozenset({"text", "thinking", "redacted_thinking", "tool_use"})
NO_CUSTOMER_MESSAGES: Final = (
    "Customers' messages are accepted at sessions/ only. Report the model's answers and the results of its tools; the user turn"
    " that you were handed may come first, unchanged."
)


class InvalidReport(ValueError):
    """The report is not valid; the sentence names the message of the report and its flaw."""


@dataclass(frozen=True, slots=True)
class ReportedResult:
    """The result of a tool call as the agent reported it."""

    text: str
    is_error: bool


@dataclass(frozen=True, slots=True)
class ReportedReply:
    """A reported model call: the answer, its usage, and the results of the tools that it called."""

    text: str
    wire: JsonObject
    model: str
    stop_reason: StopReason
    usage: Usage
    uses: tuple[ToolUse, ...]
    results: Mapping[str, ReportedResult]

    @property
    def goes_on(self) -> bool:
        """Whether another model call has to follow this answer."""
        return self.stop_reason in {StopReason.TOOL_USE, StopReason.PAUSE_TURN}


ReportedMessage = Mapping[str, Any]  # Any: JSON as it was sent


def storable_json(value: JsonObject) -> JsonObject:
    """The object in a form that can be stored. Raises InvalidReport if it is nested too deeply or contains NaN or infinity."""
    try:
        return canonical_object(value)
    except (RecursionError, ValueError, OverflowError) as flaw:
        raise InvalidReport("The JSON is nested too deeply, or contains a number that JSON does not allow.") from flaw


def parse_replies(
    messages: Sequence[ReportedMessage], handed_out: JsonObject, *, is_whole: bool
) -> tuple[ReportedReply, ...]:
    """The model's answers in a turn, in order. A finished turn ends with a final answer; a failed one may end anywhere."""
    sent = list(messages)
    if sent and sent[0].get("role") == "user" and _without_cache_marks(sent[0]) == handed_out:
        sent = sent[1:]
    answers = tuple(_parse_messages(sent, offset=len(messages) - len(sent)))
    if len(answers) > MOST_STEPS or sum(len(answer.uses) for answer in answers) > TOOL_CALLS_PER_TURN:
        raise InvalidReport(f"A turn has {MOST_STEPS} answers and {TOOL_CALLS_PER_TURN} tool calls at most.")
    ids = [use.tool_use_id for answer in answers for use in answer.uses]
    if len(set(ids)) < len(ids):
        raise InvalidReport("Two tool calls have the same id.")
    if is_whole and (not answers or answers[-1].goes_on):
        raise InvalidReport(
            "The turn is not over. Report it when the model has answered, or give the reason in `failure`."
        )
    return answers


def _parse_messages(sent: Sequence[ReportedMessage], offset: int) -> Iterator[ReportedReply]:
    at = 0
    while at < len(sent):
        place = f"Message {at + offset + 1}"
        message = sent[at]
        if message.get("role") != "assistant":
            raise InvalidReport(f"{place} is not an answer of the model. {NO_CUSTOMER_MESSAGES}")
        known = _require_known_keys(message, _REPLY_KEYS | _IGNORED_KEYS, place)
        content = _content(known.get("content"), place)
        uses = tuple(_use(block, place) for block in content if block["type"] == "tool_use")
        stop_reason = _stop_reason(known.get("stop_reason"), place)
        called = stop_reason is StopReason.TOOL_USE
        if called and not uses:
            raise InvalidReport(f"{place} stopped for a tool and calls none.")
        following = sent[at + 1] if called and at + 1 < len(sent) else None
        results = {} if following is None else dict(_results(following, uses, f"Message {at + offset + 2}"))
        yield ReportedReply(
            _text(content, place),
            # If an answer was cut off, its tool calls were never made, so they have no results and are left out.
            storable_json({"role": "assistant", "content": [b for b in content if called or b["type"] != "tool_use"]}),
            _bounded_text(known.get("model"), f"{place}: model", NAME_CHARACTERS),
            stop_reason,
            _usage(known.get("usage"), place),
            uses if called else (),
            results,
        )
        at += 1 if following is None else 2


def _require_known_keys(value: Any, names: frozenset[str], place: str) -> ReportedMessage:
    if not isinstance(value, Mapping):
        raise InvalidReport(f"{place} is not an object.")
    if unknown := sorted(set(value) - names):
        raise InvalidReport(
            f"{place} has unknown keys: {', '.join(unknown)[:200]}. Known keys: {', '.join(sorted(names))}."
        )
    return value


def _content(value: Any, place: str) -> list[dict[str, Json]]:
    blocks = [{"type": "text", "text": value}] if isinstance(value, str) else value
    if not isinstance(blocks, list):
        raise InvalidReport(f"{place}: content is neither a text nor a list of blocks.")
    for block in blocks:
        if not isinstance(block, Mapping) or str(block.get("type")) not in _BLOCK_TYPES:
            raise InvalidReport(f"{place}: an answer may contain only these blocks: {', '.join(sorted(_BLOCK_TYPES))}.")
    return [
        {key: item for key, item in block.items() if key != "cache_control" and item is not None} for block in blocks
    ]


def _text(content: Sequence[Mapping[str, Json]], place: str) -> str:
    texts = [block.get("text") for block in content if block["type"] == "text"]
    if not all(isinstance(text, str) for text in texts):
        raise InvalidReport(f"{place}: a text block contains no text.")
    text = storable_text("".join(map(str, texts)))
    if len(text) > EVENT_CHARACTERS:
        raise InvalidReport(f"{place} has {len(text)} characters; at most {EVENT_CHARACTERS} are accepted.")
    return text


def _use(block: Mapping[str, Json], place: str) -> ToolUse:
    name = _bounded_text(block.get("name"), f"{place}: the name of a tool", ID_CHARACTERS)
    given = block.get("input")
    if not isinstance(given, Mapping):
        raise InvalidReport(f"{place}: the input of {name[:60]} is not an object.")
    arguments = storable_json(dict(given))
    return ToolUse(_bounded_text(block.get("id"), f"{place}: the id of a tool call", ID_CHARACTERS), name, arguments)


def _results(message: Any, uses: Sequence[ToolUse], place: str) -> Iterator[tuple[str, ReportedResult]]:
    """The results of the tool calls. The message has to contain exactly one result for each call, and nothing else."""
    known = _require_known_keys(message, frozenset({"role", "content"}), place)
    blocks = known.get("content")
    waiting = {use.tool_use_id for use in uses}
    if known.get("role") != "user" or not isinstance(blocks, list):
        raise InvalidReport(f"{place} has to contain the results of the tools that the answer before it called.")
    for block in blocks:
        if not isinstance(block, Mapping) or block.get("type") != "tool_result":
            raise InvalidReport(f"{place} contains more than tool results. {NO_CUSTOMER_MESSAGES}")
        call_id = str(block.get("tool_use_id"))
        if call_id not in waiting:
            raise InvalidReport(f"{place} answers the call {call_id[:60]!r}, which was not made or is answered twice.")
        waiting.remove(call_id)
        yield call_id, ReportedResult(_result(block.get("content"), place), block.get("is_error") is True)
    if waiting:
        raise InvalidReport(f"{place} leaves a call without its result: {', '.join(sorted(waiting))[:200]}.")


def _result(content: Any, place: str) -> str:
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
    if not isinstance(blocks, list):
        raise InvalidReport(f"{place}: a result is a text or a list of blocks.")
    texts = [
        str(b["text"]) if isinstance(b, Mapping) and isinstance(b.get("text"), str) else "[no text]" for b in blocks
    ]
    text = storable_text("\n".join(texts))
    if len(text) > RESULT_CHARACTERS:
        raise InvalidReport(f"{place}: a result has {len(text)} characters; at most {RESULT_CHARACTERS} are accepted.")
    return text


def _stop_reason(value: Any, place: str) -> StopReason:
    try:
        return StopReason(value)
    except ValueError as unknown:
        raise InvalidReport(f"{place}: stop_reason is one of {', '.join(StopReason)}.") from unknown


def _bounded_text(value: Any, what: str, most: int) -> str:
    if not isinstance(value, str) or not value.strip() or len(value) > most:
        raise InvalidReport(f"{what} is a text of 1 to {most} characters.")
    return storable_text(value)


def _usage(value: Any, place: str) -> Usage:
    """The tokens of the five billing classes. The product uses its own prices, so reported prices are not read."""
    known = _require_known_keys(value, _USAGE_KEYS, f"{place}: usage")
    given, out, read, written = (_tokens(known.get(name), f"{place}: {name}") for name in _USAGE_COUNTS)
    split = known.get("cache_creation") or {}
    hour = _tokens(
        split.get("ephemeral_1h_input_tokens") if isinstance(split, Mapping) else None, f"{place}: an hour's"
    )
    if hour > written:
        raise InvalidReport(f"{place}: the tokens written for an hour exceed all written tokens.")
    return Usage(given, out, read, written - hour, hour)


def _tokens(value: Any, what: str) -> int:
    if value is None:
        return 0
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= MOST_TOKENS:
        raise InvalidReport(f"{what} is a whole number from 0 to {MOST_TOKENS}.")
    return value


def _without_cache_marks(message: ReportedMessage) -> JsonObject | None:
    """The message without the cache marks that were handed out with it."""
    content = message.get("content")
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    if not isinstance(blocks, list) or not all(isinstance(block, Mapping) for block in blocks):
        return None
    bare: list[Json] = [{key: item for key, item in block.items() if key != "cache_control"} for block in blocks]
    return storable_json({"role": "user", "content": bare})
