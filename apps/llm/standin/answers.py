"""Answers in the form of the Messages API: messages, their streamed form, errors."""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from apps.llm.standin.decisions import Call, Decision, Say
from apps.llm.standin.script import Fault
from apps.llm.tokens import BYTES_PER_TOKEN, estimate_tokens

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from apps.llm.backend import Json, JsonObject
    from apps.llm.caching import Bill

STAND_IN_HEADER = "x-preceptor-stand-in"
DELTA_CHARACTERS = 24
# Status, error type and sentence of each fault that answers with an error.
_FAULTS: Mapping[Fault, tuple[int, str, str]] = {
    Fault.OVERLOADED: (529, "overloaded_error", "Overloaded"),
    Fault.RATE_LIMITED: (429, "rate_limit_error", "This request would exceed your account's rate limit."),
    Fault.TIMEOUT: (504, "timeout_error", "The request timed out."),
    Fault.SERVER_ERROR: (500, "api_error", "Internal server error"),
    Fault.SPEND_LIMIT: (429, "rate_limit_error", "You have reached your monthly spend limit."),
}


@dataclass(frozen=True, slots=True)
class Answer:
    """An HTTP answer. `is_cut` breaks the connection half-way."""

    status: int
    chunks: tuple[bytes, ...]
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)
    is_cut: bool = False

    @property
    def is_stream(self) -> bool:
        return self.content_type == "text/event-stream"


def json_answer(content: Json, *, status: int = 200, headers: Mapping[str, str] | None = None) -> Answer:
    return Answer(status, (json.dumps(content, ensure_ascii=False).encode(),), headers=headers or {})


def error_answer(
    status: int, kind: str, sentence: str, *, error_code: str | None = None, retry_after_seconds: float | None = None
) -> Answer:
    error: JsonObject = {"type": kind, "message": sentence}
    if error_code is not None:
        error["details"] = {"error_code": error_code}
    content: JsonObject = {"type": "error", "error": error, "request_id": new_id("req")}
    headers = {} if retry_after_seconds is None else {"retry-after": f"{retry_after_seconds:g}"}
    return json_answer(content, status=status, headers=headers)


def fault_answer(fault: Fault, seconds: float | None) -> Answer:
    status, kind, sentence = _FAULTS[fault]
    if fault is Fault.SPEND_LIMIT:
        return error_answer(status, kind, sentence, error_code="enforced_spend_limit_reached")
    retry_after = (seconds or 1.0) if fault is Fault.RATE_LIMITED else None
    if fault is Fault.OVERLOADED:
        retry_after = seconds
    return error_answer(status, kind, sentence, retry_after_seconds=retry_after)


def message_answer(message: JsonObject, *, stream: bool, fault: Fault | None) -> Answer:
    chunks = tuple(_events(message)) if stream else (json.dumps(message, ensure_ascii=False).encode(),)
    content_type = "text/event-stream" if stream else "application/json"
    if fault is Fault.MALFORMED:
        chunks = (b'event: message_start\ndata: {"type": "message_start", "mess\n\n',) if stream else (chunks[0][:-9],)
    return Answer(200, chunks, content_type, is_cut=fault is Fault.CUT_STREAM)


def compose_message(decision: Decision, *, model: str, max_tokens: int, bill: Bill) -> JsonObject:
    block, stop_reason = _content(decision, max_tokens)
    # With max_tokens 0 a request only warms the cache.
    content: list[Json] = [block] if max_tokens else []
    return {
        "id": new_id("msg"),
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": content,
        "stop_reason": stop_reason,
        "stop_sequence": None,
        "usage": usage_of(bill, _output_tokens(block) if max_tokens else 0),
    }


def usage_of(bill: Bill, output_tokens: int) -> JsonObject:
    return {
        "input_tokens": bill.uncached,
        "cache_read_input_tokens": bill.read,
        "cache_creation_input_tokens": bill.written_5m + bill.written_1h,
        "cache_creation": {
            "ephemeral_5m_input_tokens": bill.written_5m,
            "ephemeral_1h_input_tokens": bill.written_1h,
        },
        "output_tokens": output_tokens,
    }


def new_id(prefix: str) -> str:
    return f"{prefix}_{uuid.uuid4().hex}"


def _content(decision: Decision, max_tokens: int) -> tuple[JsonObject, str]:
    match decision:
        case Call(name, arguments):
            return {"type": "tool_use", "id": new_id("toolu"), "name": name, "input": arguments}, "tool_use"
        case Say(text, stop_reason):
            if estimate_tokens(text) <= max_tokens:
                return {"type": "text", "text": text}, stop_reason or "end_turn"
            shortened = text.encode()[: max_tokens * BYTES_PER_TOKEN].decode(errors="ignore")
            return {"type": "text", "text": shortened}, stop_reason or "max_tokens"


def _output_tokens(block: JsonObject) -> int:
    written = block["text"] if block["type"] == "text" else [block["name"], block["input"]]
    return estimate_tokens(written if isinstance(written, str) else json.dumps(written, ensure_ascii=False))


def _events(message: JsonObject) -> Iterator[bytes]:
    usage = message["usage"]
    begun: JsonObject = message | {"content": [], "stop_reason": None}
    if isinstance(usage, dict):
        begun["usage"] = usage | {"output_tokens": 1}
    yield _event({"type": "message_start", "message": begun})
    yield _event({"type": "ping"})
    content = message["content"]
    for index, block in enumerate(content if isinstance(content, list) else []):
        if isinstance(block, dict):
            yield from _block_events(index, block)
    ended: JsonObject = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield _event({"type": "message_delta", "delta": ended, "usage": usage})
    yield _event({"type": "message_stop"})


def _block_events(index: int, block: JsonObject) -> Iterator[bytes]:
    if block["type"] == "text":
        start, written = block | {"text": ""}, str(block["text"])
        kind, name = "text_delta", "text"
    else:
        start, written = block | {"input": {}}, json.dumps(block["input"], ensure_ascii=False)
        kind, name = "input_json_delta", "partial_json"
    yield _event({"type": "content_block_start", "index": index, "content_block": start})
    for at in range(0, len(written), DELTA_CHARACTERS):
        piece = written[at : at + DELTA_CHARACTERS]
        yield _event({"type": "content_block_delta", "index": index, "delta": {"type": kind, name: piece}})
    yield _event({"type": "content_block_stop", "index": index})


def _event(content: JsonObject) -> bytes:
    return f"event: {content['type']}\ndata: {json.dumps(content, ensure_ascii=False)}\n\n".encode()
