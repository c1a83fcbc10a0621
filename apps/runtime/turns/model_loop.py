"""A turn's exchange with the model so far, and the next request. This module builds requests and sends nothing."""

from dataclasses import dataclass, field, replace
from time import monotonic

from apps.governance.stored_text import storable_text
from apps.llm.cache_blocks import with_marks, with_note
from apps.llm.model_backend import Json, JsonObject, ModelReply, ModelRequest, StopReason, SystemBlock, TimedOut
from apps.prompt.builtin_tools import AGENT_MESSAGING_TOOLS
from apps.prompt.rendering.user_turn import last_step_notice
from apps.runtime.limits.turn_budgets import TurnMoney
from apps.runtime.limits.turn_limits import shortened_start
from apps.runtime.sessions.prompt_cache_plan import PlannedCall, PromptCachePlanner
from apps.runtime.turn_store.model_steps import AssistantMessage, TurnStep, canonical_object
from apps.runtime.turn_store.turn_context import History

MAX_REPLY_TOKENS = 2048
CALL_SECONDS = 60.0


STEPS_SPENT = "steps_spent"
MONEY_SPENT = "turn_budget_spent"
_NO_ANSWER_SENTENCES = {
    STEPS_SPENT: "The model still called tools after {steps} steps.",
    MONEY_SPENT: "The model still called tools when the money was spent.",
}


class TurnFailed(Exception):
    """The turn ends without a reply; `code` is the reason in one word."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(slots=True)
class ModelLoop:
    """A turn's exchange with the model: the replayed history, the user turn, and the steps since."""

    account: PromptCachePlanner
    max_steps: int
    deadline_seconds: float
    steps: list[TurnStep] = field(default_factory=list)
    # The number of answers without content because the prompt left no room for one. They are paid for and count as steps.
    voids: int = 0
    messages: list[JsonObject] = field(default_factory=list)
    started: float = field(default_factory=monotonic)
    money: TurnMoney = field(default_factory=TurnMoney)
    # The reason why the latest call has to be the last one; blank if others may follow.
    last_reason: str = ""

    def open_history(self, history: History, asked: JsonObject, shortened: int = 0) -> None:
        """Begin with the replayed history. Its window moves only between turns, so that all calls of a turn share one prefix."""
        begins = shortened_start(history.messages, shortened)
        self.account.window_start = history.skipped + begins
        self.account.is_cut = history.is_cut
        self.messages = [*history.messages[begins:], asked]

    @property
    def asking(self) -> int:
        """The number of the next model call, counted from 1."""
        return len(self.steps) + self.voids + 1

    def add_step(self, step: TurnStep) -> None:
        """Add a complete step: the model's answer and the results of its tools."""
        self.steps.append(step)
        self.messages = [*self.messages, step.said, *([step.results] if step.results else [])]

    def request(self) -> ModelRequest:
        """The request of the next model call. Raises TurnFailed or TimedOut if no call may follow."""
        if self.asking > self.max_steps:
            raise TurnFailed(STEPS_SPENT, _NO_ANSWER_SENTENCES[STEPS_SPENT].format(steps=self.max_steps))
        left = self.deadline_seconds - (monotonic() - self.started)
        if left <= 0:
            raise TimedOut(f"The turn took longer than {self.deadline_seconds:.0f} seconds.")
        planned = self.account.plan(self.messages)
        self.last_reason = self._last_call_reason(planned)
        frozen = self.account.frozen
        request = ModelRequest(
            model=self.account.model,
            max_tokens=MAX_REPLY_TOKENS,
            system=tuple(map(SystemBlock, frozen.assembled.blocks)),
            messages=planned.messages,
            tools=frozen.definitions,
            timeout_seconds=min(CALL_SECONDS, left),
        )
        marked = with_marks(request, planned.plan.marks)
        # The notice comes after all cache marks and is not stored, so a replay contains only texts of the customer and of tools.
        return with_note(marked, last_step_notice()) if self.last_reason else marked

    def _last_call_reason(self, planned: PlannedCall) -> str:
        if self.money.is_limited and self.money.is_last(self.account.price(planned)):
            return MONEY_SPENT
        return STEPS_SPENT if self.asking == self.max_steps else ""

    def take_reply(self, reply: ModelReply) -> AssistantMessage:
        """Convert a reply into the message to store and send back. Of a last reply only the text is used, as no tools follow."""
        goes_on = reply.stop_reason in {StopReason.TOOL_USE, StopReason.PAUSE_TURN}
        if self.last_reason and goes_on and reply.text.strip():
            reply = replace(reply, stop_reason=StopReason.END_TURN)
        wire = canonical_object({"role": "assistant", "content": _answerable_blocks(reply)})
        return AssistantMessage(self.asking, storable_text(reply.text), wire, reply.stop_reason.value)

    @property
    def has_spoken_to_agents(self) -> bool:
        """Whether the turn delegated to another agent or answered one, so that it may end without a reply to the customer."""
        return any(
            call.name in AGENT_MESSAGING_TOOLS and not call.is_error for step in self.steps for call in step.calls
        )

    def refuse_after_last_call(self) -> None:
        """Raise TurnFailed if the model called tools in the last call, in which it had to answer."""
        if self.last_reason:
            raise TurnFailed(self.last_reason, _NO_ANSWER_SENTENCES[self.last_reason].format(steps=self.max_steps))


def refuse_unusable_reply(message: AssistantMessage, *, may_be_empty: bool) -> None:
    """Raise TurnFailed for a reply that cannot be used as an answer."""
    if message.stop_reason in {StopReason.REFUSAL.value, StopReason.CONTEXT_WINDOW_EXCEEDED.value}:
        raise unusable_stop(message)
    if not (message.goes_on or message.text.strip() or (may_be_empty and not message.is_cut)):
        raise TurnFailed("empty_reply", f"The model answered nothing ({message.stop_reason}).")


def unusable_stop(message: AssistantMessage) -> TurnFailed:
    """The failure of a turn whose model stopped before returning anything usable."""
    return TurnFailed(message.stop_reason, f"The model stopped: {message.stop_reason.replace('_', ' ')}.")


def _answerable_blocks(reply: ModelReply) -> list[Json]:
    """The content blocks to send back, without a tool call that was cut off: it has no result and would block all later calls."""
    is_whole = reply.stop_reason in {StopReason.TOOL_USE, StopReason.PAUSE_TURN}
    return [block for block in reply.blocks if is_whole or block.get("type") != "tool_use"]
