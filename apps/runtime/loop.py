"""Model call and tool calls in turn, until the model answers or a budget is spent. No transaction is open meanwhile."""

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import monotonic

from jsonschema import Draft202012Validator

from apps.conversations.rules import ToolCall
from apps.governance.errors import GovernanceError
from apps.governance.refusals import note
from apps.llm.backend import Backend, Json, JsonObject, Reply, Request, StopReason, SystemBlock, TimedOut, ToolUse
from apps.llm.blocks import with_marks
from apps.prompt.framing import canonical_json
from apps.runtime.accounts import Account, Planned
from apps.runtime.house_tools import Context, HouseTool
from apps.runtime.rules import SAME_CALL_LIMIT, TOOL_CALLS_PER_TURN, history_window
from apps.runtime.steps import Step, canonical_object, results_of, storable_text

MAX_REPLY_TOKENS = 2048
CALL_SECONDS = 60.0


class TurnFailed(Exception):
    """The turn ends without a reply; `code` says why in one word."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(slots=True)
class Loop:
    """One turn's conversation with the model."""

    backend: Backend
    account: Account
    tools: tuple[HouseTool, ...]
    context: Context
    max_steps: int
    deadline_seconds: float
    on_reply: Callable[[int, Reply, Planned], None]
    before_call: Callable[[], None]
    before_keeping: Callable[[], None]
    steps: list[Step] = field(default_factory=list)
    called: Counter[str] = field(default_factory=Counter)
    started: float = field(default_factory=monotonic)

    def run(self, history: Sequence[JsonObject], asked: JsonObject) -> list[Step]:
        """The steps that lead to a reply; the last one is the reply. Raises TurnFailed or a BackendError."""
        # The window is moved before the turn, never inside it, so that the turn's own calls share one prefix.
        window = history_window(history)
        self.account.window_start = len(history) - len(window)
        messages: list[JsonObject] = [*window, asked]
        for number in range(1, self.max_steps + 1):
            self.before_call()
            planned = self.account.plan(messages)
            reply = self.backend.complete(self._request(planned))
            self.on_reply(number, reply, planned)
            step = self._step(reply)
            self.steps.append(step)
            if reply.stop_reason is not StopReason.PAUSE_TURN and step.results is None:
                return self.steps
            messages = [*messages, step.said, *([step.results] if step.results else [])]
        raise TurnFailed("steps_spent", f"The model still called tools after {self.max_steps} steps.")

    def _request(self, planned: Planned) -> Request:
        left = self.deadline_seconds - (monotonic() - self.started)
        if left <= 0:
            raise TimedOut(f"The turn took longer than {self.deadline_seconds:.0f} seconds.")
        frozen = self.account.frozen
        request = Request(
            model=self.account.model,
            max_tokens=MAX_REPLY_TOKENS,
            system=tuple(map(SystemBlock, frozen.assembled.blocks)),
            messages=planned.messages,
            tools=frozen.definitions,
            timeout_seconds=min(CALL_SECONDS, left),
        )
        return with_marks(request, planned.plan.marks)

    def _step(self, reply: Reply) -> Step:
        if reply.stop_reason in {StopReason.REFUSAL, StopReason.CONTEXT_WINDOW_EXCEEDED}:
            raise TurnFailed(
                reply.stop_reason.value, f"The model stopped: {reply.stop_reason.value.replace('_', ' ')}."
            )
        said = canonical_object({"role": "assistant", "content": _answerable(reply)})
        if reply.stop_reason is StopReason.TOOL_USE:
            calls = tuple(self._call(use) for use in reply.tool_uses)
            return Step(storable_text(reply.text), said, calls, results_of(calls))
        if not reply.text.strip() and reply.stop_reason is not StopReason.PAUSE_TURN:
            raise TurnFailed("empty_reply", f"The model answered nothing ({reply.stop_reason.value}).")
        return Step(storable_text(reply.text), said)

    def _call(self, use: ToolUse) -> ToolCall:
        # Ids and names come from the model like everything else.
        use = ToolUse(storable_text(use.tool_use_id), storable_text(use.name), canonical_object(use.arguments))
        arguments = use.arguments
        refusal = self._refusal(use, arguments)
        if refusal:
            return ToolCall(use.tool_use_id, use.name, dict(arguments), refusal, is_error=True)
        tool = next(tool for tool in self.tools if tool.name == use.name)
        try:
            if tool.keeps:
                self.before_keeping()
            result = tool.run(self.context, arguments)
        except GovernanceError as error:
            # A refusal is an answer the model can act on, not a failure of the turn.
            note(error, self.context.actor)
            return ToolCall(use.tool_use_id, use.name, dict(arguments), str(error), is_error=True)
        return ToolCall(use.tool_use_id, use.name, dict(arguments), result)

    def _refusal(self, use: ToolUse, arguments: JsonObject) -> str:
        tool = next((tool for tool in self.tools if tool.name == use.name), None)
        if tool is None:
            return f"There is no tool {use.name}. There are: {', '.join(tool.name for tool in self.tools)}."
        shape = tool.definition.input_schema
        flaw = next(iter(Draft202012Validator(shape).iter_errors(arguments)), None)
        if flaw is not None:
            # A release may have changed the tool since the session froze its description.
            frozen = {each.name: each.input_schema for each in self.account.frozen.definitions}
            changed = (
                "" if frozen[use.name] == shape else f" The tool has changed; it takes now: {canonical_json(shape)}"
            )
            return f"The arguments do not fit: {flaw.message}{changed}"
        call = use.name + json.dumps(arguments, sort_keys=True)
        self.called[call] += 1
        if self.called[call] >= SAME_CALL_LIMIT:
            return "You made this very call before, with this result. Do something else, or answer."
        if self.called.total() > TOOL_CALLS_PER_TURN:
            return f"More than {TOOL_CALLS_PER_TURN} tool calls in one turn. Answer now."
        return ""


def _answerable(reply: Reply) -> list[Json]:
    """The blocks that go back. A call cut off in the middle can never be answered, and would wedge the conversation."""
    is_whole = reply.stop_reason in {StopReason.TOOL_USE, StopReason.PAUSE_TURN}
    return [block for block in reply.blocks if is_whole or block.get("type") != "tool_use"]
