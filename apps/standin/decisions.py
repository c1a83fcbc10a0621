from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from apps.llm.model_backend import JsonObject


@dataclass(frozen=True, slots=True)
class TextDecision:
    """Answer with text. Only scripts set a stop reason."""

    text: str
    stop_reason: str | None = None


@dataclass(frozen=True, slots=True)
class ToolDecision:
    """Request one tool call."""

    tool_name: str
    arguments: JsonObject


@dataclass(frozen=True, slots=True)
class ToolsDecision:
    """Request several tool calls at once. Only scripts do this."""

    calls: tuple[ToolDecision, ...]


Decision: TypeAlias = TextDecision | ToolDecision | ToolsDecision
