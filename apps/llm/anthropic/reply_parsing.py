"""Turns the SDK's messages into `ModelReply` values."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import anthropic

from apps.llm.model_backend import (
    JsonObject,
    MalformedReply,
    ModelReply,
    StopReason,
    ToolUse,
    UnknownStopReason,
    Usage,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anthropic.types import Usage as VendorUsage

MESSAGE_FIELDS = frozenset({"id", "model", "content", "stop_reason", "usage"})
STAND_IN_HEADER = "x-preceptor-stand-in"
NOT_A_MESSAGE = "The model's answer is not a message."
# The SDK does not validate messages, so any of these accesses may fail on a malformed one.
SHAPE_ERRORS = (AssertionError, AttributeError, LookupError, RuntimeError, TypeError)


def reply_of(message: object, *, is_stand_in: bool) -> ModelReply:
    # The SDK builds a message object from any JSON without validating it; only its fields show whether it is a message.
    if not isinstance(message, anthropic.types.Message) or MESSAGE_FIELDS - message.model_fields_set:
        raise MalformedReply(NOT_A_MESSAGE)
    try:
        return _build_reply(message, is_stand_in=is_stand_in)
    except SHAPE_ERRORS as error:
        raise MalformedReply(NOT_A_MESSAGE) from error


def _build_reply(message: anthropic.types.Message, *, is_stand_in: bool) -> ModelReply:
    return ModelReply(
        message_id=message.id,
        model=message.model,
        stop_reason=_stop_reason(message.stop_reason),
        blocks=tuple(_as_json_object(block.to_dict(mode="json")) for block in message.content),
        text="".join(block.text for block in message.content if block.type == "text"),
        tool_uses=tuple(
            ToolUse(block.id, block.name, _as_json_object(block.input))
            for block in message.content
            if block.type == "tool_use"
        ),
        usage=_usage(message.usage),
        is_stand_in=is_stand_in,
    )


def is_from_stand_in(headers: Mapping[str, str]) -> bool:
    return headers.get(STAND_IN_HEADER) == "1"


def _as_json_object(value: Mapping[str, object]) -> JsonObject:
    # The SDK decoded the value from JSON or will encode it as JSON, so it contains JSON types only.
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
