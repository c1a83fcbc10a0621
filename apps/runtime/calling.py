"""One step's tool calls: which may be made, and what the house's own tools give back."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from django.db import transaction
from jsonschema import Draft202012Validator

from apps.conversations.rules import ToolCall
from apps.governance.errors import GovernanceError
from apps.governance.refusals import note
from apps.llm.backend import JsonObject, Tool, ToolUse
from apps.prompt.framing import canonical_json
from apps.runtime.budgets import SAME_CALL_REFUSAL, Counter, Repeat
from apps.runtime.loop import TurnFailed
from apps.runtime.outside import OutsideTool, Toolbox
from apps.runtime.routing import meant
from apps.runtime.rules import TOOL_CALLS_PER_TURN
from apps.runtime.steps import storable_text
from apps.runtime.tooling import Context, HouseTool


@dataclass(slots=True)
class Caller:
    """The tools of a session, and how often each was called in this turn."""

    house: Mapping[str, HouseTool]
    toolbox: Toolbox
    routed: Toolbox
    frozen: Mapping[str, Tool]
    context: Context
    before_keeping: Callable[[], None]
    counter: Counter = field(default_factory=Counter)

    def recall(self, calls: Iterable[ToolCall]) -> None:
        """Count what earlier workers called in this turn, and what outside tools gave back."""
        for call in calls:
            self.counter.took(call.name, call.arguments, call.result)

    def meant(self, use: ToolUse) -> ToolUse:
        """The call itself, or the one it leads to."""
        return meant(use, self.routed)

    def outside(self, name: str) -> OutsideTool | None:
        """The tool of this name that somebody else runs."""
        return self.toolbox.tools.get(name) or self.routed.tools.get(name)

    def refused(self, use: ToolUse) -> ToolCall | None:
        """The refusal of a call that may not be made, as an answer the model can act on; raises TurnFailed where it never does."""
        refusal = self._unknown(use) or self._unfit(use) or self._too_often(use)
        return self._answered(use, refusal, is_error=True) if refusal else None

    def made(self, use: ToolUse) -> ToolCall:
        """What a tool of the house gives back; a refusal of the door is an answer, not a failure of the turn."""
        tool = self.house[use.name]
        try:
            if tool.keeps and tool.learns:
                self.before_keeping()
            return self._answered(use, self._run(tool, use.arguments))
        except GovernanceError as error:
            note(error, self.context.actor)
            return self._answered(use, str(error), is_error=True)

    def _answered(self, use: ToolUse, result: str, *, is_error: bool = False) -> ToolCall:
        call = ToolCall(use.tool_use_id, use.name, {**use.arguments}, storable_text(result), is_error)
        self.counter.took(call.name, call.arguments, call.result)
        return call

    def _run(self, tool: HouseTool, arguments: JsonObject) -> str:
        if tool.reads:
            return tool.run(self.context, arguments)
        # What it wrote goes back where it is refused; the step that says so stays.
        with transaction.atomic():
            return tool.run(self.context, arguments)

    def _unknown(self, use: ToolUse) -> str:
        if use.name in self.house or self.outside(use.name):
            return ""
        return f"There is no tool {use.name}. There are: {', '.join([*self.house, *self.toolbox.tools])}."

    def _unfit(self, use: ToolUse) -> str:
        """A flaw of the arguments, by the tool as it is now: a release may have changed it since the session froze its shape."""
        outside, known = self.outside(use.name), self.frozen.get(use.name)
        shape = (outside.definition if outside else self.house[use.name].definition).input_schema
        flaw = next(iter(Draft202012Validator(shape).iter_errors(use.arguments)), None)
        if flaw is None:
            return ""
        is_frozen = known is None or known.input_schema == shape
        changed = "" if is_frozen else f" The tool has changed; it takes now: {canonical_json(shape)}"
        return f"The arguments do not fit: {flaw.message}{changed}"

    def _too_often(self, use: ToolUse) -> str:
        """R125"""
        repeat = self.counter.judge(use.name, use.arguments)
        if repeat is Repeat.STOP:
            raise TurnFailed("calls_repeated", f"The model called {use.name} again and again with the same result.")
        if repeat is Repeat.REFUSE:
            return SAME_CALL_REFUSAL
        if self.counter.count >= TOOL_CALLS_PER_TURN:
            return f"More than {TOOL_CALLS_PER_TURN} tool calls in one turn. Answer now."
        return ""
