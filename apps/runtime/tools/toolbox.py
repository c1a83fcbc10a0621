"""External tools: the effect of calling one twice, and the keys of their calls."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from apps.conversations.rules import ToolCall
from apps.governance.stored_text import storable_text
from apps.llm.model_backend import JsonObject, ToolDefinition, ToolUse
from apps.runtime.models import ToolStep


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """The outcome of a call. `is_unknown` if the call may have been made and its effect is not known."""

    text: str
    is_error: bool = False
    is_unknown: bool = False

    def answering(self, call: ToolCall) -> ToolCall:
        """The call with this outcome as its result."""
        return ToolCall(call.call_id, call.name, call.arguments, storable_text(self.text), self.is_error)


# The timeout of an external call.
TOOL_SECONDS = 30.0

# The result that the model gets for a call that may have happened.
UNKNOWN_OUTCOME = CallOutcome(
    "It is not known whether this happened: the connection was lost after the call was made. Do not call it again. "
    "A person has been asked to look; tell the customer that it is being checked.",
    is_error=True,
    is_unknown=True,
)


class ExternalTool(Protocol):
    """A tool that another server runs. `repeat_safety` is the effect of a second call with the same key."""

    @property
    def definition(self) -> ToolDefinition:
        """The tool's definition for the model."""
        ...

    @property
    def repeat_safety(self) -> ToolStep.RepeatSafety:
        """READ_ONLY, IDEMPOTENT or UNSAFE."""
        ...

    async def call(self, arguments: JsonObject, *, key: str, timeout_seconds: float) -> CallOutcome:
        """Make the call. A failure is an outcome; nothing is raised but cancellation."""
        ...


@dataclass(frozen=True, slots=True)
class Toolbox:
    """The external tools that a worker can call, by name."""

    tools: Mapping[str, ExternalTool] = field(default_factory=dict)

    @property
    def definitions(self) -> tuple[ToolDefinition, ...]:
        """The definitions in order, as a new session freezes them."""
        return tuple(tool.definition for tool in self.tools.values())


NO_TOOLS = Toolbox()


@dataclass(frozen=True, slots=True)
class ExternalCall:
    """An external call to be made, with its unique key."""

    tool: ExternalTool
    step: int
    place: int
    use: ToolUse
    key: str

    @property
    def begun(self) -> ToolCall:
        """The call as the journal records it before it is made."""
        return ToolCall(self.use.tool_use_id, self.use.name, dict(self.use.arguments))
