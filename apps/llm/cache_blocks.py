"""A request as cache blocks in hashing order, and the planned cache marks set on these blocks."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from apps.llm.cache_rules import CacheBlock
from apps.llm.model_backend import MessageMark
from apps.llm.token_estimate import estimate_tokens

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from apps.llm.model_backend import CacheLifetime, Json, JsonObject, ModelRequest

# Built once, because building an encoder takes as long as encoding a short block.
_COMPACT = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def block_of(place: str, block: JsonObject, mark: CacheLifetime | None = None) -> CacheBlock:
    """Return a tool, or a block of the system prompt or a message, as a cache block. `place` includes role and settings."""
    kind = "tool" if place == "tools" else str(block.get("type"))
    content = encode_compact({key: value for key, value in block.items() if key != "cache_control"})
    text = block.get("text") if kind == "text" else content
    return CacheBlock(
        f"{place}\n{content}".encode(), kind, estimate_tokens(text if isinstance(text, str) else ""), mark
    )


def message_place(role: str, settings: JsonObject) -> str:
    """Return the `place` of a message. Changed settings keep tools and system prompt cached, but none of the messages."""
    return f"{role} {encode_compact(settings)}"


def encode_compact(value: Json) -> str:
    return _COMPACT.encode(value)


def request_blocks(request: ModelRequest) -> tuple[CacheBlock, ...]:
    """Return a request's blocks in hashing order: tools, system, messages. Existing marks on messages are ignored."""
    settings: JsonObject = {"output_config": request.output_config} if request.output_config else {}
    tools = (block_of("tools", tool.wire, tool.cache) for tool in request.tools)
    system = (block_of("system", block.wire, block.cache) for block in request.system)
    messages = (
        block_of(message_place(str(message["role"]), settings), block)
        for message in request.messages
        for block in content_blocks(message)
    )
    return (*tools, *system, *messages)


def content_blocks(message: JsonObject) -> tuple[JsonObject, ...]:
    """Return the content of a message as blocks; plain text is one block."""
    content = message["content"]
    if isinstance(content, str):
        return ({"type": "text", "text": content},)
    return tuple(block for block in content if isinstance(block, dict)) if isinstance(content, list) else ()


def with_marks(request: ModelRequest, marks: Sequence[CacheLifetime | None]) -> ModelRequest:
    """Return the request with one mark or None for each of its blocks, in the order of `request_blocks`."""
    ahead = len(request.tools) + len(request.system)
    tools = zip(request.tools, marks, strict=False)
    system = zip(request.system, marks[len(request.tools) :], strict=False)
    return replace(
        request,
        tools=tuple(tool if tool.cache == mark else replace(tool, cache=mark) for tool, mark in tools),
        system=tuple(replace(block, cache=mark) for block, mark in system),
        message_marks=tuple(
            MessageMark(*place, mark)
            for place, mark in zip(_block_positions(request.messages), marks[ahead:], strict=True)
            if mark
        ),
    )


def with_note(request: ModelRequest, text: str) -> ModelRequest:
    """Return the request with a text appended to its last message, if that is a user message."""
    *before, last = request.messages
    if last["role"] != "user":
        return request
    note: JsonObject = {"type": "text", "text": text}
    return replace(request, messages=(*before, {**last, "content": [*content_blocks(last), note]}))


def _block_positions(messages: Sequence[JsonObject]) -> Iterator[tuple[int, int]]:
    for message_index, message in enumerate(messages):
        for block_index in range(len(content_blocks(message))):
            yield message_index, block_index
