from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, Literal, Protocol, TypeAlias

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"
JsonObject: TypeAlias = dict[str, Json]
CacheLifetime: TypeAlias = Literal["5m", "1h"]
# Receives the text of an answer in pieces.
Listener: TypeAlias = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class SystemBlock:
    """A piece of the system prompt; `cache` sets a breakpoint after it."""

    text: str
    cache: CacheLifetime | None = None

    @property
    def wire(self) -> JsonObject:
        return {"type": "text", "text": self.text}


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """A tool definition in a request; `cache` sets a breakpoint after it."""

    name: str
    description: str
    input_schema: JsonObject
    cache: CacheLifetime | None = None

    @property
    def wire(self) -> JsonObject:
        return {"name": self.name, "description": self.description, "input_schema": self.input_schema}


@dataclass(frozen=True, slots=True)
class MessageMark:
    """A breakpoint after one block of one message; a plain text counts as block 0."""

    message_index: int
    block_index: int
    lifetime: CacheLifetime


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One call of a model. Tools, system prompt and messages together have at most the model's four breakpoints."""

    model: str
    max_tokens: int
    system: tuple[SystemBlock, ...]
    messages: tuple[JsonObject, ...]
    tools: tuple[ToolDefinition, ...] = ()
    timeout_seconds: float = 120.0
    effort: str | None = None
    output_schema: JsonObject | None = None
    message_marks: tuple[MessageMark, ...] = ()

    @property
    def output_config(self) -> JsonObject:
        output: JsonObject = {}
        if self.effort is not None:
            output["effort"] = self.effort
        if self.output_schema is not None:
            output["format"] = {"type": "json_schema", "schema": self.output_schema}
        return output


@dataclass(frozen=True, slots=True)
class Usage:
    """The tokens that a call used, in five counts that never overlap."""

    input_tokens: int
    output_tokens: int
    cache_read_tokens: int = 0
    cache_write_5m_tokens: int = 0
    cache_write_1h_tokens: int = 0

    @property
    def prompt_tokens(self) -> int:
        return self.input_tokens + self.cache_read_tokens + self.cache_write_5m_tokens + self.cache_write_1h_tokens

    @property
    def cache_write_tokens(self) -> int:
        return self.cache_write_5m_tokens + self.cache_write_1h_tokens

    @property
    def cached_tokens(self) -> int:
        """Return the number of tokens in the prefix that is cached after the call."""
        return self.cache_read_tokens + self.cache_write_tokens

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cache_read_tokens + other.cache_read_tokens,
            self.cache_write_5m_tokens + other.cache_write_5m_tokens,
            self.cache_write_1h_tokens + other.cache_write_1h_tokens,
        )


class StopReason(StrEnum):
    """Why the model stopped, as the Messages API documents it."""

    END_TURN = "end_turn"
    MAX_TOKENS = "max_tokens"
    STOP_SEQUENCE = "stop_sequence"
    TOOL_USE = "tool_use"
    PAUSE_TURN = "pause_turn"
    REFUSAL = "refusal"
    CONTEXT_WINDOW_EXCEEDED = "model_context_window_exceeded"


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A tool call that the model requests."""

    tool_use_id: str
    name: str
    arguments: JsonObject


@dataclass(frozen=True, slots=True)
class ModelReply:
    """One reply of a model. `blocks` are sent back unchanged as the assistant's content in the next request."""

    message_id: str
    model: str
    stop_reason: StopReason
    blocks: tuple[JsonObject, ...]
    text: str
    tool_uses: tuple[ToolUse, ...]
    usage: Usage
    is_stand_in: bool


class ModelBackend(Protocol):
    """A client that answers model requests: the vendor's API, or a compatible API at another address."""

    def complete(self, request: ModelRequest) -> ModelReply:
        """Answer once, or raise a `BackendError`. Never retries, because the turn decides about retries."""


class AsyncBackend(Protocol):
    """A backend for many concurrent calls on one event loop."""

    async def complete(self, request: ModelRequest, listener: Listener | None = None) -> ModelReply:
        """Answer like `ModelBackend.complete`, and pass text to the listener as it arrives. Cancelling closes the connection."""

    async def aclose(self) -> None:
        """Close every connection; calls in progress end with ConnectionLost."""


class ErrorOwner(StrEnum):
    """Who has to act before the same request can succeed."""

    NOBODY = "nobody"
    OPERATOR = "operator"
    DEVELOPER = "developer"


class BackendError(Exception):
    """A failed model call."""

    code: ClassVar[str] = "backend_error"
    who_acts: ClassVar[ErrorOwner] = ErrorOwner.DEVELOPER

    def __init__(self, message: str, *, retry_after_seconds: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_seconds = retry_after_seconds

    @property
    def is_worth_retrying(self) -> bool:
        """Return whether the same request may succeed later although nothing else changes."""
        return self.who_acts is ErrorOwner.NOBODY


class Overloaded(BackendError):
    """The provider has no capacity now."""

    code = "overloaded"
    who_acts = ErrorOwner.NOBODY


class RateLimited(BackendError):
    """The account exceeds its limit of requests."""

    code = "rate_limited"
    who_acts = ErrorOwner.NOBODY


class ConnectionLost(BackendError):
    """The answer did not arrive, or only partly."""

    code = "connection_lost"
    who_acts = ErrorOwner.NOBODY


class TimedOut(BackendError):
    """No answer arrived within the time that the request allowed."""

    code = "timed_out"
    who_acts = ErrorOwner.NOBODY


class ServerFault(BackendError):
    """The provider failed on its side."""

    code = "server_fault"
    who_acts = ErrorOwner.NOBODY


class MalformedReply(BackendError):
    """An answer arrived, but it is not a message."""

    code = "malformed_reply"
    who_acts = ErrorOwner.NOBODY


class SpendLimitReached(BackendError):
    """The account's spend limit for this period is reached; waiting a few seconds does not help."""

    code = "spend_limit_reached"
    who_acts = ErrorOwner.OPERATOR


class NotAuthorised(BackendError):
    """The API key is missing, wrong, or not valid for this model."""

    code = "not_authorised"
    who_acts = ErrorOwner.OPERATOR


class EndpointRefused(BackendError):
    """The endpoint's address is in a forbidden network, or the endpoint redirects to another address."""

    code = "endpoint_refused"
    who_acts = ErrorOwner.OPERATOR


class BadRequest(BackendError):
    """The API refuses the request, and will refuse the same bytes again."""

    code = "bad_request"


class ContextExceeded(BackendError):
    """The request exceeds the model's context."""

    code = "context_exceeded"


class UnknownStopReason(BackendError):
    """The model stopped for a reason that this version cannot handle."""

    code = "unknown_stop_reason"
