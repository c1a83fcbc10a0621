"""HTTP requests and Messages API requests, parsed and refused as the real API does."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from apps.llm.cache_blocks import block_of, encode_compact, message_place
from apps.llm.cache_rules import CacheBlock
from apps.llm.prices import cache_rules_for

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from apps.llm.model_backend import CacheLifetime, Json, JsonObject

ROLES = frozenset({"user", "assistant", "system"})
# If any of these settings changes, tools and system prompt stay cached, but none of the messages.
MESSAGE_SETTINGS = ("tool_choice", "thinking", "output_config")


class InvalidModelRequest(Exception):
    """A request that the API would refuse with status 400."""


@dataclass(frozen=True, slots=True)
class ArrivedRequest:
    """An HTTP request that was read completely."""

    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def account(self) -> str:
        """Return the account of the API key, empty without a key. Accounts share no caches."""
        return self.headers.get("x-api-key") or self.headers.get("authorization", "").removeprefix("Bearer ").strip()


@dataclass(frozen=True, slots=True)
class RequestMessage:
    """One message with its content as blocks, including breakpoints."""

    role: str
    blocks: tuple[JsonObject, ...]


@dataclass(frozen=True, slots=True)
class ParsedRequest:
    """A valid request."""

    model: str
    max_tokens: int
    stream: bool
    system: tuple[JsonObject, ...]
    tools: tuple[JsonObject, ...]
    messages: tuple[RequestMessage, ...]
    settings: JsonObject
    automatic_mark: CacheLifetime | None

    @property
    def system_text(self) -> str:
        return "\n\n".join(text_of(block) for block in self.system)

    @property
    def output_schema(self) -> Json:
        config = self.settings.get("output_config")
        return config.get("format") if isinstance(config, dict) else None


def parse_request(body: bytes, *, counting: bool = False, paused: Collection[str] = ()) -> ParsedRequest:
    """Parse a request. Raises `InvalidModelRequest` with a message like the API's; with `counting`, `max_tokens` is optional.

    `paused` holds answers that ended with a pause: a request may end with one of these and with no other assistant message.
    """
    content = parse_object(body)
    max_tokens = content.get("max_tokens", 0 if counting else None)
    asked = ParsedRequest(
        model=_require_text(content, "model"),
        max_tokens=_require_whole_number(max_tokens, "max_tokens"),
        stream=content.get("stream") is True,
        system=_parse_blocks(content.get("system", []), "system"),
        tools=_require_objects(content.get("tools", []), "tools"),
        messages=_parse_messages(content.get("messages")),
        settings={key: content[key] for key in MESSAGE_SETTINGS if key in content},
        automatic_mark=_cache_mark(content),
    )
    _refuse_bad_order(asked.messages, paused)
    _refuse_bad_cache_marks(asked)
    return asked


def parse_object(body: bytes) -> JsonObject:
    try:
        decoded: Json = json.loads(body)
        # A lone surrogate is not valid text, even if its escape can be parsed.
        encode_compact(decoded).encode()
    except (ValueError, RecursionError) as error:
        sentence = "The request body is not valid JSON."
        raise InvalidModelRequest(sentence) from error
    return _require_object(decoded, "the request body")


def prompt_blocks(asked: ParsedRequest) -> tuple[CacheBlock, ...]:
    """Return the prompt's blocks in hashing order. Breakpoints are not content: moving one changes no hash."""
    blocks = [block_of("tools", tool, _cache_mark(tool)) for tool in asked.tools]
    blocks += [block_of("system", block, _cache_mark(block)) for block in asked.system]
    blocks += [
        block_of(message_place(message.role, asked.settings), block, _cache_mark(block))
        for message in asked.messages
        for block in message.blocks
    ]
    if asked.automatic_mark and blocks and blocks[-1].mark is None:
        last = blocks[-1]
        blocks[-1] = CacheBlock(last.content, last.kind, last.tokens, asked.automatic_mark)
    return tuple(blocks)


def blocks_sha256(blocks: Sequence[JsonObject]) -> str:
    """Return the hash that identifies an answer; cache marks are not content."""
    bare = [{key: value for key, value in block.items() if key != "cache_control"} for block in blocks]
    return hashlib.sha256(json.dumps(bare, sort_keys=True).encode()).hexdigest()


def text_of(block: JsonObject) -> str:
    text = block.get("text")
    return text if isinstance(text, str) else ""


def _require_object(value: Json, place: str) -> JsonObject:
    if not isinstance(value, dict):
        sentence = f"{place}: Input should be an object"
        raise InvalidModelRequest(sentence)
    return value


def _require_objects(value: Json, place: str) -> tuple[JsonObject, ...]:
    if not isinstance(value, list):
        sentence = f"{place}: Input should be a list"
        raise InvalidModelRequest(sentence)
    return tuple(_require_object(item, f"{place}.{index}") for index, item in enumerate(value))


def _parse_blocks(value: Json, place: str) -> tuple[JsonObject, ...]:
    if isinstance(value, str):
        return ({"type": "text", "text": value},)
    return _require_objects(value, place)


def _require_text(content: JsonObject, field: str) -> str:
    value = content.get(field)
    if not isinstance(value, str) or not value:
        sentence = f"{field}: Field required"
        raise InvalidModelRequest(sentence)
    return value


def _require_whole_number(value: Json, field: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        sentence = f"{field}: Field required"
        raise InvalidModelRequest(sentence)
    if value < 0:
        sentence = f"{field}: Input should be greater than or equal to 0"
        raise InvalidModelRequest(sentence)
    return value


def _parse_messages(value: Json) -> tuple[RequestMessage, ...]:
    if value is None or value == []:
        sentence = "messages: at least one message is required"
        raise InvalidModelRequest(sentence)
    return tuple(
        _parse_message(item, f"messages.{index}") for index, item in enumerate(_require_objects(value, "messages"))
    )


def _parse_message(item: JsonObject, place: str) -> RequestMessage:
    role = item.get("role")
    if not isinstance(role, str) or role not in ROLES:
        sentence = f"{place}.role: Input should be 'user' or 'assistant'"
        raise InvalidModelRequest(sentence)
    blocks = _parse_blocks(item.get("content"), f"{place}.content")
    if not blocks:
        sentence = f"{place}: messages must have non-empty content"
        raise InvalidModelRequest(sentence)
    return RequestMessage(role, blocks)


def _refuse_bad_order(messages: Sequence[RequestMessage], paused: Collection[str]) -> None:
    if messages[0].role != "user":
        sentence = "messages: first message must use the user role"
        raise InvalidModelRequest(sentence)
    if messages[-1].role == "assistant" and blocks_sha256(messages[-1].blocks) not in paused:
        sentence = "The conversation must end with a user message; this model does not support assistant prefill."
        raise InvalidModelRequest(sentence)
    waiting: set[Json] = set()
    for index, message in enumerate(messages):
        if message.role == "system":
            continue
        answered = {block.get("tool_use_id") for block in message.blocks if block.get("type") == "tool_result"}
        if strangers := answered - waiting:
            sentence = (
                f"messages.{index}: unexpected `tool_use_id` found in `tool_result` blocks: {_join_ids(strangers)}. Each "
                "`tool_result` block must have a corresponding `tool_use` block in the previous message."
            )
            raise InvalidModelRequest(sentence)
        if unanswered := waiting - answered:
            sentence = (
                f"messages.{index}: `tool_use` ids were found without `tool_result` blocks immediately after: "
                f"{_join_ids(unanswered)}."
            )
            raise InvalidModelRequest(sentence)
        waiting = {block.get("id") for block in message.blocks if block.get("type") == "tool_use"}


def _join_ids(ids: set[Json]) -> str:
    return ", ".join(sorted(str(item) for item in ids))


def _cache_mark(block: JsonObject) -> CacheLifetime | None:
    control = block.get("cache_control")
    if control is None:
        return None
    if not isinstance(control, dict) or control.get("type") != "ephemeral":
        sentence = "cache_control.type: Input should be 'ephemeral'"
        raise InvalidModelRequest(sentence)
    match control.get("ttl", "5m"):
        case "5m":
            return "5m"
        case "1h":
            return "1h"
        case other:
            sentence = f"cache_control.ttl: Input should be '5m' or '1h', not {other!r}"
            raise InvalidModelRequest(sentence)


def _cache_marks(asked: ParsedRequest) -> Iterator[CacheLifetime]:
    contents = (asked.tools, asked.system, *(message.blocks for message in asked.messages))
    for block in (block for blocks in contents for block in blocks):
        if mark := _cache_mark(block):
            yield mark


def _refuse_bad_cache_marks(asked: ParsedRequest) -> None:
    marks = list(_cache_marks(asked))
    last = _cache_mark(asked.messages[-1].blocks[-1])
    if asked.automatic_mark and last is None:
        marks.append(asked.automatic_mark)
    elif asked.automatic_mark and last != asked.automatic_mark:
        sentence = "cache_control: the last block has a breakpoint with another ttl"
        raise InvalidModelRequest(sentence)
    allowed = cache_rules_for(asked.model).marks
    if len(marks) > allowed:
        sentence = f"A maximum of {allowed} blocks with cache_control may be provided. Found {len(marks)}."
        raise InvalidModelRequest(sentence)
    if "5m" in marks and "1h" in marks[marks.index("5m") :]:
        sentence = "cache_control: a ttl='1h' block must not come after a ttl='5m' block"
        raise InvalidModelRequest(sentence)
