"""Responses of the Messages API: messages, their streamed form, errors."""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from apps.llm.model_backend import Usage
from apps.llm.token_estimate import BYTES_PER_TOKEN, estimate_tokens
from apps.standin.decisions import Decision, TextDecision, ToolDecision, ToolsDecision
from apps.standin.http_api.script import STREAM_BREAKING_FAULTS, Fault, ScriptStep

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from apps.llm.cache_rules import TokenBill
    from apps.llm.model_backend import Json, JsonObject

STAND_IN_HEADER = "x-preceptor-stand-in"
DELTA_CHARACTERS = 24
# The status, error type and message of each fault that answers with an error.
_FAULT_ERRORS: Mapping[Fault, tuple[int, str, str]] = {
    Fault.OVERLOADED: (529, "overloaded_error", "Overloaded"),
    Fault.RATE_LIMITED: (429, "rate_limit_error", "This request would exceed your account's rate limit."),
    Fault.TIMEOUT: (504, "timeout_error", "The request timed out."),
    Fault.SERVER_ERROR: (500, "api_error", "Internal server error"),
    Fault.PROMPT_TOO_LONG: (400, "invalid_request_error", "prompt is too long: 200001 tokens > 200000 maximum"),
    Fault.SPEND_LIMIT: (429, "rate_limit_error", "You have reached your monthly spend limit."),
    Fault.STREAM_ERROR: (529, "overloaded_error", "Overloaded"),
}


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """An HTTP response. `is_cut` breaks the connection half-way after a stall; `is_whole` means that nothing is missing."""

    status: int
    chunks: tuple[bytes, ...]
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)
    is_cut: bool = False
    stall_seconds: float = 0.0
    is_whole: bool = True

    @property
    def is_stream(self) -> bool:
        return self.content_type == "text/event-stream"


def json_answer(content: Json, *, status: int = 200, headers: Mapping[str, str] | None = None) -> HttpAnswer:
    return HttpAnswer(status, (json.dumps(content, ensure_ascii=False).encode(),), headers=headers or {})


def error_answer(
    status: int, kind: str, sentence: str, *, error_code: str | None = None, retry_after_seconds: float | None = None
) -> HttpAnswer:
    error: JsonObject = {"type": kind, "message": sentence}
    if error_code is not None:
        error["details"] = {"error_code": error_code}
    content: JsonObject = {"type": "error", "error": error, "request_id": new_id("req")}
    headers = {} if retry_after_seconds is None else {"retry-after": f"{retry_after_seconds:g}"}
    return json_answer(content, status=status, headers=headers)


def is_refused_before_answer(fault: Fault, *, stream: bool) -> bool:
    """Return whether the fault comes before the answer. Without streaming, this includes a fault inside a stream."""
    return fault in _FAULT_ERRORS and not (stream and fault is Fault.STREAM_ERROR)


def fault_answer(fault: Fault, seconds: float | None) -> HttpAnswer:
    status, kind, sentence = _FAULT_ERRORS[fault]
    if fault is Fault.SPEND_LIMIT:
        return error_answer(status, kind, sentence, error_code="enforced_spend_limit_reached")
    retry_after = (seconds or 1.0) if fault is Fault.RATE_LIMITED else None
    if fault is Fault.OVERLOADED:
        retry_after = seconds
    return error_answer(status, kind, sentence, retry_after_seconds=retry_after)


def message_answer(message: JsonObject, *, stream: bool, step: ScriptStep) -> HttpAnswer:
    chunks = tuple(_stream_events(message)) if stream else (json.dumps(message, ensure_ascii=False).encode(),)
    if step.fault is Fault.MALFORMED:
        chunks = (b'event: message_start\ndata: {"type": "message_start", "mess\n\n',) if stream else (chunks[0][:-9],)
    if step.fault is Fault.STREAM_ERROR:
        _, kind, sentence = _FAULT_ERRORS[step.fault]
        error: JsonObject = {"type": kind, "message": sentence}
        chunks = (
            *chunks[: len(chunks) // 2],
            _encode_event({"type": "error", "error": error, "request_id": new_id("req")}),
        )
    return HttpAnswer(
        200,
        chunks,
        "text/event-stream" if stream else "application/json",
        is_cut=step.fault in {Fault.CUT_STREAM, Fault.STALL},
        stall_seconds=step.stall_seconds,
        is_whole=step.fault not in STREAM_BREAKING_FAULTS,
    )


def compose_message(decision: Decision, *, model: str, max_tokens: int, bill: TokenBill) -> tuple[JsonObject, Usage]:
    blocks, stop_reason = _content_blocks(decision, max_tokens)
    # With max_tokens 0 a request only warms the cache.
    content: list[Json] = [*blocks] if max_tokens else []
    usage = Usage(
        input_tokens=bill.uncached,
        output_tokens=sum(map(_output_tokens, blocks)) if max_tokens else 0,
        cache_read_tokens=bill.read,
        cache_write_5m_tokens=bill.written_5m,
        cache_write_1h_tokens=bill.written_1h,
    )
    message: JsonObject = {
        "id": new_id("msg"),
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": content,
        "stop_reason": stop_reason,
        "stop_sequence": None,
        "usage": usage_wire(usage),
    }
    return message, usage


def usage_wire(usage: Usage) -> JsonObject:
    return {
        "input_tokens": usage.input_tokens,
        "cache_read_input_tokens": usage.cache_read_tokens,
        "cache_creation_input_tokens": usage.cache_write_tokens,
        "cache_creation": {
            "ephemeral_5m_input_tokens": usage.cache_write_5m_tokens,
            "ephemeral_1h_input_tokens": usage.cache_write_1h_tokens,
        },
        "output_tokens": usage.output_tokens,
    }


def new_id(prefix: str) -> str:
    return f"{prefix}_{uuid.uuid4().hex}"


def _content_blocks(decision: Decision, max_tokens: int) -> tuple[list[JsonObject], str]:
    match decision:
        case ToolDecision():
            return [_tool_use(decision)], "tool_use"
        case ToolsDecision(calls):
            return [_tool_use(call) for call in calls], "tool_use"
        case TextDecision(text, stop_reason):
            if estimate_tokens(text) <= max_tokens:
                return [{"type": "text", "text": text}], stop_reason or "end_turn"
            shortened = text.encode()[: max_tokens * BYTES_PER_TOKEN].decode(errors="ignore")
            return [{"type": "text", "text": shortened}], stop_reason or "max_tokens"


def _tool_use(call: ToolDecision) -> JsonObject:
    return {"type": "tool_use", "id": new_id("toolu"), "name": call.tool_name, "input": call.arguments}


def _output_tokens(block: JsonObject) -> int:
    written = block["text"] if block["type"] == "text" else [block["name"], block["input"]]
    return estimate_tokens(written if isinstance(written, str) else json.dumps(written, ensure_ascii=False))


def _stream_events(message: JsonObject) -> Iterator[bytes]:
    usage = message["usage"]
    begun: JsonObject = message | {"content": [], "stop_reason": None}
    if isinstance(usage, dict):
        begun["usage"] = usage | {"output_tokens": 1}
    yield _encode_event({"type": "message_start", "message": begun})
    yield _encode_event({"type": "ping"})
    content = message["content"]
    for index, block in enumerate(content if isinstance(content, list) else []):
        if isinstance(block, dict):
            yield from _block_events(index, block)
    ended: JsonObject = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield _encode_event({"type": "message_delta", "delta": ended, "usage": usage})
    yield _encode_event({"type": "message_stop"})


def _block_events(index: int, block: JsonObject) -> Iterator[bytes]:
    if block["type"] == "text":
        start, written = block | {"text": ""}, str(block["text"])
        kind, name = "text_delta", "text"
    else:
        start, written = block | {"input": {}}, json.dumps(block["input"], ensure_ascii=False)
        kind, name = "input_json_delta", "partial_json"
    yield _encode_event({"type": "content_block_start", "index": index, "content_block": start})
    for at in range(0, len(written), DELTA_CHARACTERS):
        piece = written[at : at + DELTA_CHARACTERS]
        yield _encode_event({"type": "content_block_delta", "index": index, "delta": {"type": kind, name: piece}})
    yield _encode_event({"type": "content_block_stop", "index": index})


def _encode_event(content: JsonObject) -> bytes:
    return f"event: {content['type']}\ndata: {json.dumps(content, ensure_ascii=False)}\n\n".encode()
