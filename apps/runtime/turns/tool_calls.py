"""The tool calls of a turn: checks before a call, the start of external calls, and the results of built-in tools."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from django.db import transaction
from jsonschema import Draft202012Validator

from apps.conversations.rules import ToolCall
from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import GovernanceError, IllegalTransition
from apps.governance.refusal_log import record_refusal
from apps.governance.stored_text import storable_text
from apps.llm.model_backend import JsonObject, ToolDefinition, ToolUse
from apps.prompt.rendering.data_fences import canonical_json
from apps.runtime.limits.repeated_calls import SAME_CALL_REFUSAL, RepeatCounter, RepeatVerdict
from apps.runtime.limits.turn_budgets import TOO_MANY_SAVES
from apps.runtime.limits.turn_limits import TOOL_CALLS_PER_TURN
from apps.runtime.models import ToolStep, Turn
from apps.runtime.tools.builtin_tool import BuiltinTool, ToolContext
from apps.runtime.tools.tool_search import resolve_routed_call
from apps.runtime.tools.tool_server_tools import ToolServerTool
from apps.runtime.tools.toolbox import ExternalTool, Toolbox
from apps.runtime.turn_store.turn_journal import lock_turn
from apps.runtime.turns.model_loop import TurnFailed
from apps.tools.actions import spend_approval
from apps.tools.models import ToolApproval
from apps.tools.tool_limits import call_sha256

NOT_IN_PLAYGROUND: Final = (
    "Nothing was called: this is the playground, where {name} is not called, because it may write."
    " Answer as you would where it cannot be reached."
)
APPROVAL_WITHDRAWN: Final = "Nothing was called: a colleague had said yes to this call, and took it back."


@dataclass(slots=True)
class ToolCalls:
    """The tools of a session, and a counter of this turn's tool calls."""

    builtin_tools: Mapping[str, BuiltinTool]
    toolbox: Toolbox
    routed: Toolbox
    frozen: Mapping[str, ToolDefinition]
    context: ToolContext
    before_keeping: Callable[[], None]
    # Tools whose calls need a person's approval, and the calls that were approved.
    guarded: Mapping[str, ToolServerTool] = field(default_factory=dict)
    approved: dict[str, int] = field(default_factory=dict)
    counter: RepeatCounter = field(default_factory=RepeatCounter)
    # How often the agent may still save in this turn if the product asked it to save something. None means no limit.
    saves_left: int | None = None

    def count_calls(self, calls: Iterable[ToolCall]) -> None:
        """Count the calls that earlier workers made in this turn, and calls of external tools that have returned."""
        for call in calls:
            self._count(call)

    def _count(self, call: ToolCall) -> None:
        self.counter.record(call.name, call.arguments, call.result)
        if self.saves_left is not None and self._is_saving_tool(call.name) and not call.is_error:
            self.saves_left -= 1

    def _is_saving_tool(self, name: str) -> bool:
        tool = self.builtin_tools.get(name)
        return tool is not None and tool.keeps and tool.learns

    def resolve_route(self, use: ToolUse) -> ToolUse:
        """The call itself, or for a call of a routing tool, the call that its arguments name."""
        return resolve_routed_call(use, self.routed)

    def find_external_tool(self, use: ToolUse, *, is_begun: bool = False) -> ExternalTool | None:
        """The external tool of a call; None if the tool is built in, or the call still needs an approval."""
        is_held = use.name in self.guarded and not is_begun and self._call_sha256(use) not in self.approved
        return None if is_held else self._external_tool(use.name)

    @contextmanager
    def begin_external_call(self, use: ToolUse, turn: Turn, system: Actor) -> Iterator[ToolCall | None]:
        """Open the transaction in which the caller records the start of a call, and use up the call's approval if it has one.

        Yields None if the call may begin, or the result for the model if the approval was withdrawn meanwhile.
        """
        if use.name not in self.guarded:
            yield None
            return
        with acting_as(system):
            lock_turn(turn)
            is_approved = self._spend_approval(use, system)
            yield None if is_approved else self._record_answer(use, APPROVAL_WITHDRAWN, is_error=True)

    def _spend_approval(self, use: ToolUse, system: Actor) -> bool:
        yes = ToolApproval.objects.visible_to(system).get(pk=self.approved.pop(self._call_sha256(use)))
        try:
            spend_approval(yes, actor=system)
        except IllegalTransition:
            return False
        return True

    def _call_sha256(self, use: ToolUse) -> str:
        return call_sha256(self.guarded[use.name].allowance, use.arguments)

    def _external_tool(self, name: str) -> ExternalTool | None:
        return self.toolbox.tools.get(name) or self.routed.tools.get(name)

    def refuse_call(self, use: ToolUse) -> ToolCall | None:
        """The refusal of a call as its result, or None. Raises TurnFailed if the model repeats the same call too often."""
        refusal = (
            self._unknown_tool_flaw(use)
            or self._argument_flaw(use)
            or self._repeat_refusal(use)
            or self._trial_refusal(use)
        )
        return self._record_answer(use, refusal, is_error=True) if refusal else None

    def call_builtin_tool(self, use: ToolUse) -> ToolCall:
        """Call a built-in tool. The refusal of a governed write becomes the call's result and does not fail the turn."""
        tool = self.builtin_tools[use.name]
        try:
            if tool.keeps and tool.learns:
                self.before_keeping()
            return self._record_answer(use, self._run_tool(tool, use.arguments))
        except GovernanceError as error:
            record_refusal(error, self.context.actor)
            return self._record_answer(use, str(error), is_error=True)

    def _record_answer(self, use: ToolUse, result: str, *, is_error: bool = False) -> ToolCall:
        call = ToolCall(use.tool_use_id, use.name, {**use.arguments}, storable_text(result), is_error)
        self._count(call)
        return call

    def _run_tool(self, tool: BuiltinTool, arguments: JsonObject) -> str:
        if tool.reads:
            return tool.run(self.context, arguments)
        # A refusal rolls back what the tool wrote, but not the step that records the refusal.
        with transaction.atomic():
            return tool.run(self.context, arguments)

    def _unknown_tool_flaw(self, use: ToolUse) -> str:
        if use.name in self.builtin_tools or self._external_tool(use.name):
            return ""
        return f"There is no tool {use.name}. There are: {', '.join({**self.builtin_tools, **self.toolbox.tools})}."

    def _argument_flaw(self, use: ToolUse) -> str:
        """The flaw of the arguments by the tool's current schema, which a release may have changed since the session froze it."""
        outside, known = self._external_tool(use.name), self.frozen.get(use.name)
        shape = (outside.definition if outside else self.builtin_tools[use.name].definition).input_schema
        flaw = next(iter(Draft202012Validator(shape).iter_errors(use.arguments)), None)
        if flaw is None:
            return ""
        is_frozen = known is None or known.input_schema == shape
        changed = "" if is_frozen else f" The tool has changed; it takes now: {canonical_json(shape)}"
        return f"The arguments do not fit: {flaw.message}{changed}"

    def _trial_refusal(self, use: ToolUse) -> str:
        """The refusal of a call in the playground, where only tools that read and need no approval may be called."""
        outside = self._external_tool(use.name)
        reads = (
            outside.repeat_safety is ToolStep.RepeatSafety.READ_ONLY if outside else self.builtin_tools[use.name].reads
        )
        if not self.context.conversation.is_trial or (reads and use.name not in self.guarded):
            return ""
        return NOT_IN_PLAYGROUND.format(name=use.name)

    def _repeat_refusal(self, use: ToolUse) -> str:
        """The refusal of a repeated call, or of one more call than the turn may make (R125)."""
        repeat = self.counter.judge(use.name, use.arguments)
        if repeat is RepeatVerdict.STOP:
            raise TurnFailed("calls_repeated", f"The model called {use.name} again and again with the same result.")
        if repeat is RepeatVerdict.REFUSE:
            return SAME_CALL_REFUSAL
        if self.counter.count >= TOOL_CALLS_PER_TURN:
            return f"More than {TOOL_CALLS_PER_TURN} tool calls in one turn. Answer now."
        # Saves that the product asked for must not use up the steps that the reply to the customer needs (R124).
        return (
            TOO_MANY_SAVES
            if self.saves_left is not None and self.saves_left <= 0 and self._is_saving_tool(use.name)
            else ""
        )
