"""The requests to a tool server and its replies, as plain values; importing this module does not load the client."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from apps.outbound.ssrf import Networks


@dataclass(frozen=True, slots=True)
class ToolServerAddress:
    """A tool server with its credentials, which appear in no output and no log."""

    url: str
    headers: Mapping[str, str] = field(repr=False)
    timeout_seconds: float
    max_result_bytes: int
    allowed: Networks = ()


@dataclass(frozen=True, slots=True)
class ListedTool:
    """One tool as described by its server; the description is not verified."""

    name: str
    description: str
    input_schema: Mapping[str, Any]  # Any: JSON of any shape
    is_read_only: bool
    is_idempotent: bool
    is_destructive: bool


@dataclass(frozen=True, slots=True)
class ToolServerListing:
    """The tools that a server offers, as far as they were read, and the protocol version."""

    protocol: str
    tools: tuple[ListedTool, ...]
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class ToolServerResult:
    """The result of a call; structured content is encoded as JSON."""

    text: str
    is_error: bool = False


class ToolServerFailed(Exception):
    """A request to a tool server failed. The message quotes neither the server nor the arguments."""

    code: ClassVar[str]


class CallNotSent(ToolServerFailed):
    """The call was not sent."""

    code = "call_not_sent"


class CallRefused(ToolServerFailed):
    """The server refused the call before executing it."""

    code = "call_refused"


class OutcomeUnknown(ToolServerFailed):
    """The call was sent, and its outcome is unknown."""

    code = "outcome_unknown"
