"""One step's tool calls: which may be made, and what the house's own tools give back."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from django.db import transaction
from jsonschema import Draft202012Validator

from apps.conversations.rules import ToolCall
from apps.governance.errors import GovernanceError
from apps.governance.refusals import note
from apps.llm.backend import JsonObject, Tool, ToolUse
from apps.prompt.framing import canonical_json
from apps.runtime.house_tools import Context, HouseTool
from apps.runtime.outside import Toolbox
from apps.runtime.rules import SAME_CALL_LIMIT, TOOL_CALLS_PER_TURN
from apps.runtime.steps import storable_text


@dataclass(slots=True)
class Caller:
    """The tools of a session, and how often each was called in this turn."""

    house: Mapping[str, HouseTool]
    toolbox: Toolbox
    frozen: Mapping[str, Tool]
    context: Context
    before_keeping: Callable[[], None]
    called: Counter[str] = field(default_factory=Counter)

    def recall(self, calls: Iterable[ToolCall]) -> None:
        """Count what earlier workers called in this turn."""
        self.called.update(_key(call.name, call.arguments) for call in calls)

    def refused(self, use: ToolUse) -> ToolCall | None:
        """The refusal of a call that may not be made, as an answer the model can act on."""
        refusal = self._unknown(use) or self._unfit(use) or self._too_often(use)
        return ToolCall(use.tool_use_id, use.name, {**use.arguments}, refusal, is_error=True) if refusal else None

    def made(self, use: ToolUse) -> ToolCall:
        """What a tool of the house gives back; a refusal of the door is an answer, not a failure of the turn."""
        tool = self.house[use.name]
        arguments: dict[str, object] = {**use.arguments}
        try:
            if tool.keeps:
                self.before_keeping()
            return ToolCall(use.tool_use_id, use.name, arguments, storable_text(self._run(tool, use.arguments)))
        except GovernanceError as error:
            note(error, self.context.actor)
            return ToolCall(use.tool_use_id, use.name, arguments, storable_text(str(error)), is_error=True)

    def _run(self, tool: HouseTool, arguments: JsonObject) -> str:
        if tool.reads:
            return tool.run(self.context, arguments)
        # What it wrote goes back where it is refused; the step that says so stays.
        with transaction.atomic():
            return tool.run(self.context, arguments)

    def _unknown(self, use: ToolUse) -> str:
        if use.name in self.house or use.name in self.toolbox.tools:
            return ""
        return f"There is no tool {use.name}. There are: {', '.join([*self.house, *self.toolbox.tools])}."

    def _unfit(self, use: ToolUse) -> str:
        """A flaw of the arguments, by the tool as it is now: a release may have changed it since the session froze its shape."""
        shape = self._definition(use.name).input_schema
        flaw = next(iter(Draft202012Validator(shape).iter_errors(use.arguments)), None)
        if flaw is None:
            return ""
        is_frozen = self.frozen[use.name].input_schema == shape
        changed = "" if is_frozen else f" The tool has changed; it takes now: {canonical_json(shape)}"
        return f"The arguments do not fit: {flaw.message}{changed}"

    def _too_often(self, use: ToolUse) -> str:
        key = _key(use.name, use.arguments)
        self.called[key] += 1
        if self.called[key] >= SAME_CALL_LIMIT:
            return "You made this very call before, with this result. Do something else, or answer."
        if self.called.total() > TOOL_CALLS_PER_TURN:
            return f"More than {TOOL_CALLS_PER_TURN} tool calls in one turn. Answer now."
        return ""

    def _definition(self, name: str) -> Tool:
        return self.house[name].definition if name in self.house else self.toolbox.tools[name].definition


def _key(name: str, arguments: Mapping[str, object]) -> str:
    return name + json.dumps(arguments, sort_keys=True)
