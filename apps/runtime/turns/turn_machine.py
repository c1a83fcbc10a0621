"""The state machine of one turn, without a model: it names the next call or tool, and keeps the result (R126, R127).

`apps.runtime.worker.sync_driver` or the engine drives it; the machine knows nothing of how they wait. Each method is a few short
transactions, and none is open between two methods. After a crash, `start_turn` in another worker continues after the last
kept step.

`AskModel` and `TurnOver` are the moves: what the driver has to do next.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from django.db import InterfaceError, OperationalError

from apps.conversations.rules import ToolCall
from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.llm.model_backend import (
    BackendError,
    ContextExceeded,
    ErrorOwner,
    JsonObject,
    ModelReply,
    ModelRequest,
    ToolUse,
)
from apps.runtime.kill_switch_checks import StoppedByPerson, is_taken_over
from apps.runtime.limits.turn_budgets import DayBudgetSpent
from apps.runtime.models import ToolStep, Turn
from apps.runtime.prompt_snapshot.snapshot_store import PromptUnavailable
from apps.runtime.sessions.prompt_cache_ledger import build_call_notes
from apps.runtime.sessions.session_prefix import SessionPrefix
from apps.runtime.tools.toolbox import NO_TOOLS, UNKNOWN_OUTCOME, CallOutcome, ExternalCall, Toolbox
from apps.runtime.turn_store.journal_rows import call_row, tool_row
from apps.runtime.turn_store.model_steps import AssistantMessage
from apps.runtime.turn_store.resume import JournaledCall, find_resume_point
from apps.runtime.turn_store.turn_claim import TurnClaim, claim_turn
from apps.runtime.turn_store.turn_journal import (
    FenceLost,
    NewMessagesArrived,
    RenderedUserTurn,
    WriteResult,
    lock_turn,
    postpone,
    record_steps,
)
from apps.runtime.turns.circuit_breaker_store import BreakerOpen, allow_call, record_failure, record_success
from apps.runtime.turns.interruptions import (
    postpone_after_error,
    postpone_stopped,
    restart_turn,
    shorten_history,
    wait_for_breaker,
)
from apps.runtime.turns.model_loop import ModelLoop, TurnFailed, refuse_unusable_reply
from apps.runtime.turns.tool_calls import ToolCalls
from apps.runtime.turns.turn_completion import (
    FinishedReply,
    cancel_turn,
    deliver_reply,
    fail_turn,
    record_call_outcome,
    send_mode_at_claim,
    wait_for_budget,
)
from apps.runtime.turns.turn_setup import refuse_exhausted_turn, set_up_turn
from apps.runtime.turns.user_turn import render_claimed_turn
from apps.tenants.authentication.actor_resolution import system_actor
from apps.tenants.endpoints.decrypted_endpoint import OpenedEndpoint

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class AskModel:
    """Send this to the model, at the tenant's own place if there is one, then tell the turn what it replied."""

    request: ModelRequest
    place: OpenedEndpoint | None = None


@dataclass(frozen=True, slots=True)
class TurnOver:
    """The turn is out of this worker's hands; `more_waits` if the conversation's next one may be taken at once."""

    more_waits: bool = False


NextMove = AskModel | ExternalCall | TurnOver


def start_turn(tenant_id: int, conversation_id: int, toolbox: Toolbox = NO_TOOLS) -> "TurnMachine | None":
    """Take the conversation's turn, if there is one to take, and go as far as the first call."""
    system = system_actor(tenant_id, "worker")
    claimed = claim_turn(conversation_id, actor=system)
    if claimed is None:
        return None
    machine = TurnMachine(claimed, toolbox, system)
    machine.advance(machine.start)
    return machine


@dataclass(slots=True)
class TurnMachine:
    """A turn in the hands of one worker. `move` says what to do next; whoever does it reports through `go`."""

    claimed: TurnClaim
    toolbox: Toolbox
    system: Actor
    move: NextMove = field(default=TurnOver())
    asked: RenderedUserTurn | None = None
    said: AssistantMessage | None = None
    answers: dict[int, JournaledCall] = field(default_factory=dict)
    new_calls: list[JsonObject] = field(default_factory=list)
    new_tools: list[JsonObject] = field(default_factory=list)
    is_probe: bool = False
    loop: ModelLoop = field(init=False)
    caller: ToolCalls = field(init=False)

    @property
    def turn(self) -> Turn:
        """The row, as it was claimed."""
        return self.claimed.turn

    def advance(self, report: Callable[[], None]) -> None:
        """Take in what happened; afterwards `move` says what to do next. The database's own failures are raised on."""
        try:
            self._handle_errors(report)
        except FenceLost:
            logger.warning("turn taken over by another worker", extra={"turn_id": self.turn.pk})
            self.move = TurnOver()

    def _handle_errors(self, report: Callable[[], None]) -> None:
        try:
            report()
        except BackendError as error:
            self._postpone(error)
        except BreakerOpen as held:
            wait_for_breaker(self.claimed, held, actor=self.system)
            self.move = TurnOver()
        except (TurnFailed, PromptUnavailable) as error:
            self._fail(error.code, str(error))
        except StoppedByPerson:
            self._stop_for_person()
        except DayBudgetSpent as spent:
            wait_for_budget(self.claimed, spent, actor=self.system)
            self.move = TurnOver()
        except (FenceLost, InterfaceError, OperationalError):
            # Without the database nothing can be said; the lease brings the turn back.
            raise
        except Exception as error:  # noqa: BLE001  # the worker's edge: the text may quote a customer and stays out of logs
            logger.error("turn failed", extra={"turn_id": self.turn.pk, "error": type(error).__name__})
            self._fail("unexpected", f"The worker met {type(error).__name__}.")

    def failed(self, error: Exception) -> None:
        """The call came to nothing."""
        if isinstance(error, BackendError):
            record_failure(self.claimed, error, is_probe=self.is_probe, actor=self.system)
        raise error

    def let_go(self) -> None:
        """Give the turn back as it stands; whoever takes it next follows no crash."""
        postpone(self.turn, self.turn.failure_code, self.turn.failure, 0, self.turn.failed_calls, actor=self.system)
        self.move = TurnOver()

    def start(self, frozen: SessionPrefix | None = None) -> None:
        """Open or find the session, replay what was kept, and see what comes next."""
        kept = self.claimed.asked
        first = send_mode_at_claim(self.claimed)
        self.asked = (
            RenderedUserTurn.kept(kept) if kept else render_claimed_turn(self.claimed, first, actor=self.system)
        )
        if self.claimed.conversation.is_held:
            raise StoppedByPerson
        refuse_exhausted_turn(self.claimed)
        behind = find_resume_point(self.claimed.kept)
        if behind.last is None and not self.is_probe:
            self.is_probe = allow_call(self.claimed, actor=self.system)
        self.loop, self.caller = set_up_turn(self.claimed, self.asked, self.toolbox, frozen, system=self.system)
        self.loop.voids = behind.voids
        for step in behind.steps:
            self.loop.add(step)
            self.caller.recall(step.calls)
        if behind.last is None:
            self.move, self.claimed = self._next_request(), self.claimed.begun
        else:
            self.said, self.answers = behind.last, dict(behind.calls)
            self.caller.recall(kept.call for kept in self.answers.values() if not kept.is_open)
            self._continue()

    def record_reply(self, reply: ModelReply) -> None:
        """The model has answered: its tools are called, or its words leave the house."""
        account = self.loop.account
        planned = account.planned
        if planned is None:
            raise ValueError("A reply came to a turn that has asked nothing.")
        message = self.loop.heard(reply)
        notes = build_call_notes(planned, reply, account)
        account.keep(planned, reply)
        record_success(self.claimed, is_probe=self.is_probe, actor=self.system)
        asked = self.asked.stored if self.asked and message.number == 1 else None
        self.new_calls = [call_row(message, reply, notes, asked, account.rates)]
        self.claimed.money.pay(account.cost(reply))
        self.is_probe, self.said, self.answers = False, message, {}
        self._continue()

    def record_result(self, call: ExternalCall, outcome: CallOutcome) -> None:
        """An outside call came back, or nobody knows what became of it."""
        self._end_call(call.step, call.place, UNKNOWN_OUTCOME if outcome.is_unknown else outcome, call.begun)
        self._continue()

    def new_messages(self) -> None:
        """The customer went on writing while it waited for the model, whose answer is not waited for any more."""
        self._restart()

    def stopped(self) -> None:
        """A person stopped it while it waited."""
        raise StoppedByPerson

    def _continue(self) -> None:
        message = self.said
        if message is None:
            raise ValueError("A turn goes on behind an answer of the model.")
        if message.is_void and shorten_history(self.claimed, self.new_calls, message.number + 1, actor=self.system):
            self.move = TurnOver(more_waits=True)
            return
        refuse_unusable_reply(message, may_be_empty=self.claimed.may_be_silent or self.loop.has_spoken_to_agents)
        if not message.goes_on:
            self._deliver(message)
            return
        self.loop.refuse_another()
        if self._call_tools(message):
            self.loop.add(message.with_calls(tuple(self.answers[place].call for place in sorted(self.answers))))
            standing = self._record_steps(self.loop.asking)
            if not standing.may_go_on:
                raise StoppedByPerson
            if not (standing.new_messages and self._restart()):
                self.move = self._next_request()

    def _next_request(self) -> AskModel:
        return AskModel(self.loop.request(), self.claimed.terms.reached)

    def _deliver(self, message: AssistantMessage) -> None:
        if self.asked is None:
            raise ValueError("A turn replies to what it was asked.")
        steps = [*self.loop.steps, message.with_calls(())]
        assembled = self.loop.account.frozen.assembled
        written = FinishedReply(self.claimed, self.asked, steps, assembled, self.new_calls, message.is_cut)
        try:
            self.move = TurnOver(deliver_reply(written, actor=self.system).more_waits)
        except NewMessagesArrived:
            self._restart()

    def _restart(self) -> bool:
        """Ask again with all that has arrived; false where the turn goes on as it is."""
        anew = restart_turn(self.claimed, self.new_calls, self.new_tools, actor=self.system)
        if anew is None:
            return False
        self.claimed, self.said, self.answers, self.new_calls, self.new_tools = anew.claimed, None, {}, [], []
        self.start(self.loop.account.frozen)
        if not anew.may_go_on:
            raise StoppedByPerson
        return True

    def _call_tools(self, message: AssistantMessage) -> bool:
        """Call what the answer wants called, in its order; false where the turn waits for an outside call."""
        for place, asked in enumerate(message.uses):
            known = self.answers.get(place)
            if known and not known.is_open:
                continue
            use = self.caller.meant(asked)
            outside = self.caller.outside(use, is_begun=known is not None)
            call = (
                ExternalCall(outside, message.number, place, use, self._call_key(message.number, place))
                if outside
                else None
            )
            if not (
                self._repeat_call(call, known, place, message) if known else self._call_tool(call, use, place, message)
            ):
                return False
        return True

    def _call_tool(self, outside: ExternalCall | None, use: ToolUse, place: int, message: AssistantMessage) -> bool:
        if refused := self.caller.refused(use):
            self._note_result(message.number, place, refused, ToolStep.RepeatSafety.READ_ONLY)
        elif outside:
            begun = outside.begun, outside.tool.repeat_safety, ToolStep.State.STARTED
            with self.caller.begins(use, self.turn, self.system) as withheld:
                if withheld:
                    self._note_result(message.number, place, withheld, ToolStep.RepeatSafety.READ_ONLY)
                    return True
                self.new_tools.append(tool_row(message.number, place, *begun))
                self._record_steps(message.number)
            self.move = outside
            return False
        elif self.caller.house[use.name].reads:
            self._note_result(message.number, place, self.caller.made(use), ToolStep.RepeatSafety.READ_ONLY)
        else:
            with acting_as(self.system):
                lock_turn(self.turn)
                self._note_result(message.number, place, self.caller.made(use), ToolStep.RepeatSafety.TRANSACTIONAL)
                self._record_steps(message.number)
        return True

    def _repeat_call(
        self, outside: ExternalCall | None, known: JournaledCall, place: int, message: AssistantMessage
    ) -> bool:
        """A call that was begun and never ended: made again where that is safe, else nobody knows what it did."""
        if outside and known.may_be_repeated and outside.tool.repeat_safety is not ToolStep.RepeatSafety.UNSAFE:
            self.move = outside
            return False
        self._end_call(message.number, place, UNKNOWN_OUTCOME, known.call)
        return True

    def _end_call(self, step: int, place: int, outcome: CallOutcome, begun: ToolCall) -> None:
        record_call_outcome(self.claimed, (step, place), outcome, begun.name, actor=self.system)
        answered = outcome.answering(begun)
        self.caller.recall([answered])
        self.answers[place] = JournaledCall(answered)

    def _note_result(self, step: int, place: int, call: ToolCall, repeat_safety: ToolStep.RepeatSafety) -> None:
        self.new_tools.append(tool_row(step, place, call, repeat_safety, ToolStep.State.DONE))
        self.answers[place] = JournaledCall(call)

    def _record_steps(self, asking: int) -> WriteResult:
        standing = record_steps(self.turn, self.new_calls, self.new_tools, asking, actor=self.system)
        self.claimed.money.day_left = standing.day_left
        self.claimed = replace(self.claimed, is_sending_paused=standing.is_sending_paused)
        self.new_calls, self.new_tools, self.turn.failed_calls = [], [], 0
        return standing

    def _call_key(self, step: int, place: int) -> str:
        return f"{self.turn.pk}:{self.turn.round}:{step}:{place}"

    def _fail(self, code: str, sentence: str) -> None:
        self.move = TurnOver(
            fail_turn(self.claimed, self.asked, self.new_calls, code, sentence, actor=self.system).more_waits
        )

    def _postpone(self, error: BackendError) -> None:
        """Wait where time or an operator can help."""
        if isinstance(error, ContextExceeded) and shorten_history(
            self.claimed, (), self.loop.asking, actor=self.system
        ):
            self.move = TurnOver(more_waits=True)
            return
        if error.who_acts is ErrorOwner.DEVELOPER:
            self._fail(error.code, str(error))
            return
        postpone_after_error(self.claimed, error, actor=self.system)
        self.move = TurnOver()

    def _stop_for_person(self) -> None:
        """A person stopped it. One who answers in its place ends it; otherwise what is paid for is kept for when they let go."""
        if is_taken_over(self.claimed.conversation, actor=self.system):
            self.move = TurnOver(cancel_turn(self.claimed, self.asked, self.new_calls, actor=self.system).more_waits)
            return
        if self.new_calls:
            self._record_steps(self.loop.asking)
        postpone_stopped(self.claimed, actor=self.system)
        self.move = TurnOver()
