"""What is asked of a tool server and what it says, in plain values; importing this loads no client."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from apps.outbound.ssrf import Networks


@dataclass(frozen=True, slots=True)
class ToolServerAddress:
    """A tool server and what it wants to be let in, which is in nothing that is printed or logged."""

    url: str
    headers: Mapping[str, str] = field(repr=False)
    timeout_seconds: float
    max_result_bytes: int
    allowed: Networks = ()


@dataclass(frozen=True, slots=True)
class ListedTool:
    """One tool as its server describes it; nothing of it is true because it is said."""

    name: str
    description: str
    input_schema: Mapping[str, Any]  # Any: JSON of any shape
    is_read_only: bool
    is_idempotent: bool
    is_destructive: bool


@dataclass(frozen=True, slots=True)
class ToolServerListing:
    """Everything a server offers, as far as it was read, and the protocol it was read in."""

    protocol: str
    tools: tuple[ListedTool, ...]
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class ToolServerResult:
    """What a call gave back; structured content is JSON."""

    text: str
    is_error: bool = False


class ToolServerFailed(Exception):
    """A server did not do what it was asked. The sentence quotes nobody."""

    code: ClassVar[str]


class CallNotSent(ToolServerFailed):
    """The question never left the house."""

    code = "call_not_sent"


class CallRefused(ToolServerFailed):
    """The server refused the call before it did anything."""

    code = "call_refused"


class OutcomeUnknown(ToolServerFailed):
    """The call was made, and nobody can tell what it did."""

    code = "outcome_unknown"
