"""Tools whose effects are elsewhere: what they promise about being called twice, and how their calls are told apart."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from apps.conversations.rules import ToolCall
from apps.governance.stored_text import storable_text
from apps.llm.model_backend import JsonObject, ToolDefinition, ToolUse
from apps.runtime.models import ToolStep


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """What a call gave back. `is_unknown` if it was made and nobody can tell what it did."""

    text: str
    is_error: bool = False
    is_unknown: bool = False

    def answering(self, call: ToolCall) -> ToolCall:
        """The call with this as its result."""
        return ToolCall(call.call_id, call.name, call.arguments, storable_text(self.text), self.is_error)


# How long an outside call may take.
TOOL_SECONDS = 30.0

# What the model is told of a call that may have happened.
UNKNOWN_OUTCOME = CallOutcome(
    "It is not known whether this happened: the connection was lost after the call was made. Do not call it again. "
    "A person has been asked to look; tell the customer that it is being checked.",
    is_error=True,
    is_unknown=True,
)


class ExternalTool(Protocol):
    """A tool that somebody else runs. `repeat_safety` says what a second call with the same key would do."""

    @property
    def definition(self) -> ToolDefinition:
        """The tool as the model sees it."""
        ...

    @property
    def repeat_safety(self) -> ToolStep.RepeatSafety:
        """READS, KEYED or UNSAFE."""
        ...

    async def call(self, arguments: JsonObject, *, key: str, timeout_seconds: float) -> CallOutcome:
        """Make the call. A failure is an outcome; nothing is raised but cancellation."""
        ...


@dataclass(frozen=True, slots=True)
class Toolbox:
    """The outside tools a worker can reach, by name."""

    tools: Mapping[str, ExternalTool] = field(default_factory=dict)

    @property
    def definitions(self) -> tuple[ToolDefinition, ...]:
        """As a new session freezes them, in their order."""
        return tuple(tool.definition for tool in self.tools.values())


NO_TOOLS = Toolbox()


@dataclass(frozen=True, slots=True)
class ExternalCall:
    """One call that is to be made, under the key that tells it from every other."""

    tool: ExternalTool
    step: int
    place: int
    use: ToolUse
    key: str

    @property
    def begun(self) -> ToolCall:
        """The call as the journal has it before it is made."""
        return ToolCall(self.use.tool_use_id, self.use.name, dict(self.use.arguments))
