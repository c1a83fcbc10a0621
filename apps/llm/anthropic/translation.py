"""Requests as the SDK takes them, and messages as replies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import anthropic

from apps.llm.backend import (
    BadRequest,
    JsonObject,
    MalformedReply,
    Reply,
    Request,
    StopReason,
    ToolUse,
    UnknownStopReason,
    Usage,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anthropic.types import Usage as VendorUsage

    from apps.llm.backend import CacheLifetime, Json, MessageMark

MESSAGE_FIELDS = frozenset({"id", "model", "content", "stop_reason", "usage"})
STAND_IN_HEADER = "x-preceptor-stand-in"
NOT_A_MESSAGE = "The model's answer is not a message."
# What does not fit fails wherever it does not fit.
MISFITS = (AssertionError, AttributeError, LookupError, RuntimeError, TypeError)


# Any: the SDK's own parameters are overloaded TypedDicts; the stand-in's validation and the API check the shape.
def arguments_of(request: Request) -> dict[str, Any]:
    """In the order in which the SDK writes them."""
    arguments: dict[str, Any] = {
        "max_tokens": request.max_tokens,
        "messages": _marked(request.messages, request.message_marks),
        "model": request.model,
    }
    if request.output_config:
        arguments["output_config"] = request.output_config
    if request.system:
        arguments["system"] = [block.wire | _cache_control(block.cache) for block in request.system]
    if request.tools:
        arguments["tools"] = [tool.wire | _cache_control(tool.cache) for tool in request.tools]
    return arguments


def _cache_control(lifetime: CacheLifetime | None) -> JsonObject:
    return {"cache_control": {"type": "ephemeral", "ttl": lifetime}} if lifetime else {}


def _marked(messages: tuple[JsonObject, ...], marks: tuple[MessageMark, ...]) -> list[JsonObject]:
    """The same messages with breakpoints; the caller's own are left as they are."""
    marked = list(messages)
    for mark in marks:
        if not 0 <= mark.message_index < len(marked):
            sentence = f"A cache mark points at message {mark.message_index}, and there are {len(marked)}."
            raise BadRequest(sentence)
        message = marked[mark.message_index]
        marked[mark.message_index] = message | {"content": _marked_content(message.get("content"), mark)}
    return marked


def _marked_content(content: Json, mark: MessageMark) -> list[Json]:
    blocks: list[Json] = [{"type": "text", "text": content}] if isinstance(content, str) else _listed(content)
    block = blocks[mark.block_index] if 0 <= mark.block_index < len(blocks) else None
    if not isinstance(block, dict) or "cache_control" in block:
        sentence = (
            f"Block {mark.block_index} of message {mark.message_index} cannot carry a cache mark, or does so twice."
        )
        raise BadRequest(sentence)
    return [*blocks[: mark.block_index], block | _cache_control(mark.lifetime), *blocks[mark.block_index + 1 :]]


def _listed(content: Json) -> list[Json]:
    return content if isinstance(content, list) else []


def reply_of(message: object, *, stand_in: bool) -> Reply:
    # The SDK builds a message out of any JSON, without validating it; only the fields tell.
    if not isinstance(message, anthropic.types.Message) or MESSAGE_FIELDS - message.model_fields_set:
        raise MalformedReply(NOT_A_MESSAGE)
    try:
        return _reply(message, stand_in=stand_in)
    except MISFITS as error:
        raise MalformedReply(NOT_A_MESSAGE) from error


def _reply(message: anthropic.types.Message, *, stand_in: bool) -> Reply:
    return Reply(
        message_id=message.id,
        model=message.model,
        stop_reason=_stop_reason(message.stop_reason),
        blocks=tuple(_plain(block.to_dict(mode="json")) for block in message.content),
        text="".join(block.text for block in message.content if block.type == "text"),
        tool_uses=tuple(
            ToolUse(block.id, block.name, _plain(block.input)) for block in message.content if block.type == "tool_use"
        ),
        usage=_usage(message.usage),
        stand_in=stand_in,
    )


def is_from_stand_in(headers: Mapping[str, str]) -> bool:
    return headers.get(STAND_IN_HEADER) == "1"


def _plain(value: Mapping[str, object]) -> JsonObject:
    # What the SDK decoded from JSON, or encodes as such, holds nothing that JSON does not know.
    return cast("JsonObject", value)


def _stop_reason(value: str | None) -> StopReason:
    if value is None:
        sentence = "The model's answer does not say why it ended."
        raise MalformedReply(sentence)
    try:
        return StopReason(value)
    except ValueError as error:
        sentence = f"The model stopped for a reason this version does not know: {value!r}."
        raise UnknownStopReason(sentence) from error


def _usage(usage: VendorUsage) -> Usage:
    written = usage.cache_creation_input_tokens or 0
    written_1h = usage.cache_creation.ephemeral_1h_input_tokens if usage.cache_creation else 0
    return Usage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=usage.cache_read_input_tokens or 0,
        cache_write_5m_tokens=written - written_1h,
        cache_write_1h_tokens=written_1h,
    )
