"""A request in the format of the Messages API, with its cache marks set."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from apps.llm.model_backend import BadRequest

if TYPE_CHECKING:
    from apps.llm.model_backend import CacheLifetime, Json, JsonObject, MessageMark, ModelRequest


# Any: the SDK's parameters are overloaded TypedDicts; the stand-in's validation and the API check the shape.
def arguments_of(request: ModelRequest) -> dict[str, Any]:
    """Return the request's parameters in the order in which the SDK writes them."""
    arguments: dict[str, Any] = {
        "max_tokens": request.max_tokens,
        "messages": _mark_messages(request.messages, request.message_marks),
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


def _mark_messages(messages: tuple[JsonObject, ...], marks: tuple[MessageMark, ...]) -> list[JsonObject]:
    """Return the messages with breakpoints; the caller's messages are not changed."""
    marked = list(messages)
    for mark in marks:
        if not 0 <= mark.message_index < len(marked):
            sentence = (
                f"A cache mark points at message {mark.message_index}, but there are only {len(marked)} messages."
            )
            raise BadRequest(sentence)
        message = marked[mark.message_index]
        marked[mark.message_index] = message | {"content": _mark_content(message.get("content"), mark)}
    return marked


def _mark_content(content: Json, mark: MessageMark) -> list[Json]:
    blocks: list[Json] = [{"type": "text", "text": content}] if isinstance(content, str) else _as_list(content)
    block = blocks[mark.block_index] if 0 <= mark.block_index < len(blocks) else None
    if not isinstance(block, dict) or "cache_control" in block:
        sentence = (
            f"Block {mark.block_index} of message {mark.message_index} cannot carry a cache mark, or carries two."
        )
        raise BadRequest(sentence)
    return [*blocks[: mark.block_index], block | _cache_control(mark.lifetime), *blocks[mark.block_index + 1 :]]


def _as_list(content: Json) -> list[Json]:
    return content if isinstance(content, list) else []
