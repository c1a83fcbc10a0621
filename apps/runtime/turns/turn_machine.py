"""The state machine of one turn, without a model: it names the next call or tool, and keeps the result (R126, R127).

`apps.runtime.worker.sync_driver` or the engine drives it; the machine knows nothing of how they wait. Each method is a few short
transactions, and none is open between two methods. After a crash, `begin` in another worker continues after the last kept step.

`AskModel` and `Over` are the moves: what the driver has to do next.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from django.db import InterfaceError, OperationalError

from apps.conversations.rules import ToolCall
from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting
from apps.llm.model_backend import BackendError, ContextExceeded, JsonObject, Reply, Request, ToolUse, WhoActs
from apps.runtime.kill_switch_checks import Stopped, is_taken_over
from apps.runtime.limits.turn_budgets import DaySpent
from apps.runtime.models import ToolStep, Turn
from apps.runtime.prompt_snapshot.snapshot_store import NotFrozen
from apps.runtime.sessions.prompt_cache_ledger import notes_of
from apps.runtime.sessions.session_prefix import Frozen
from apps.runtime.tools.toolbox import LOST, NO_TOOLS, Outcome, OutsideCall, Toolbox
from apps.runtime.turn_store.journal_rows import call_row, tool_row
from apps.runtime.turn_store.model_steps import Said
from apps.runtime.turn_store.resume import KeptCall, resumed
from apps.runtime.turn_store.turn_claim import Claim, claim
from apps.runtime.turn_store.turn_journal import Asked, FenceLost, SaidMore, Standing, hold, keep, postpone
from apps.runtime.turns.circuit_breaker_store import HeldBack, note_answer, note_failure, permitted
from apps.runtime.turns.interruptions import begun_anew, hold_back, lay_down, put_off, shorten
from apps.runtime.turns.model_loop import Loop, TurnFailed, refuse_unfit
from apps.runtime.turns.tool_calls import Caller
from apps.runtime.turns.turn_completion import Written, cancel, fail, leave, mode_at_first, settle_call, wait_for_money
from apps.runtime.turns.turn_setup import opened, refuse_spent
from apps.runtime.turns.user_turn import asked_of
from apps.tenants.authentication.actor_resolution import system_actor
from apps.tenants.endpoints.decrypted_endpoint import Reached

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class AskModel:
    """Send this to the model, at the tenant's own place if there is one, then tell the turn what it replied."""

    request: Request
    place: Reached | None = None


@dataclass(frozen=True, slots=True)
class Over:
    """The turn is out of this worker's hands; `more_waits` if the conversation's next one may be taken at once."""

    more_waits: bool = False


Move = AskModel | OutsideCall | Over


def begin(tenant_id: int, conversation_id: int, toolbox: Toolbox = NO_TOOLS) -> "Turning | None":
    """Take the conversation's turn, if there is one to take, and go as far as the first call."""
    system = system_actor(tenant_id, "worker")
    claimed = claim(conversation_id, actor=system)
    if claimed is None:
        return None
    turning = Turning(claimed, toolbox, system)
    turning.go(turning.start)
    return turning


@dataclass(slots=True)
class Turning:
    """A turn in the hands of one worker. `move` says what to do next; whoever does it reports through `go`."""

    claimed: Claim
    toolbox: Toolbox
    system: Actor
    move: Move = field(default=Over())
    asked: Asked | None = None
    said: Said | None = None
    answers: dict[int, KeptCall] = field(default_factory=dict)
    new_calls: list[JsonObject] = field(default_factory=list)
    new_tools: list[JsonObject] = field(default_factory=list)
    is_probe: bool = False
    loop: Loop = field(init=False)
    caller: Caller = field(init=False)

    @property
    def turn(self) -> Turn:
        """The row, as it was claimed."""
        return self.claimed.turn

    def go(self, report: Callable[[], None]) -> None:
        """Take in what happened; afterwards `move` says what to do next. The database's own failures are raised on."""
        try:
            self._guarded(report)
        except FenceLost:
            logger.warning("turn taken over by another worker", extra={"turn_id": self.turn.pk})
            self.move = Over()

    def _guarded(self, report: Callable[[], None]) -> None:
        try:
            report()
        except BackendError as error:
            self._put_off(error)
        except HeldBack as held:
            hold_back(self.claimed, held, actor=self.system)
            self.move = Over()
        except (TurnFailed, NotFrozen) as error:
            self._give_up(error.code, str(error))
        except Stopped:
            self._lay_down()
        except DaySpent as spent:
            wait_for_money(self.claimed, spent, actor=self.system)
            self.move = Over()
        except (FenceLost, InterfaceError, OperationalError):
            # Without the database nothing can be said; the lease brings the turn back.
            raise
        except Exception as error:  # noqa: BLE001  # the worker's edge: the text may quote a customer and stays out of logs
            logger.error("turn failed", extra={"turn_id": self.turn.pk, "error": type(error).__name__})
            self._give_up("unexpected", f"The worker met {type(error).__name__}.")

    def failed(self, error: Exception) -> None:
        """The call came to nothing."""
        if isinstance(error, BackendError):
            note_failure(self.claimed, error, is_probe=self.is_probe, actor=self.system)
        raise error

    def let_go(self) -> None:
        """Give the turn back as it stands; whoever takes it next follows no crash."""
        postpone(self.turn, self.turn.failure_code, self.turn.failure, 0, self.turn.failed_calls, actor=self.system)
        self.move = Over()

    def start(self, frozen: Frozen | None = None) -> None:
        """Open or find the session, replay what was kept, and see what comes next."""
        kept = self.claimed.asked
        first = mode_at_first(self.claimed)
        self.asked = Asked.kept(kept) if kept else asked_of(self.claimed, first, actor=self.system)
        if self.claimed.conversation.is_held:
            raise Stopped
        refuse_spent(self.claimed)
        behind = resumed(self.claimed.kept)
        if behind.last is None and not self.is_probe:
            self.is_probe = permitted(self.claimed, actor=self.system)
        self.loop, self.caller = opened(self.claimed, self.asked, self.toolbox, frozen, system=self.system)
        self.loop.voids = behind.voids
        for step in behind.steps:
            self.loop.add(step)
            self.caller.recall(step.calls)
        if behind.last is None:
            self.move, self.claimed = self._asks(), self.claimed.begun
        else:
            self.said, self.answers = behind.last, dict(behind.calls)
            self.caller.recall(kept.call for kept in self.answers.values() if not kept.is_open)
            self._go_on()

    def took_reply(self, reply: Reply) -> None:
        """The model has answered: its tools are called, or its words leave the house."""
        account = self.loop.account
        planned = account.planned
        if planned is None:
            raise ValueError("A reply came to a turn that has asked nothing.")
        said = self.loop.heard(reply)
        notes = notes_of(planned, reply, account)
        account.keep(planned, reply)
        note_answer(self.claimed, is_probe=self.is_probe, actor=self.system)
        asked = self.asked.stored if self.asked and said.number == 1 else None
        self.new_calls = [call_row(said, reply, notes, asked, account.rates)]
        self.claimed.money.pay(account.cost(reply))
        self.is_probe, self.said, self.answers = False, said, {}
        self._go_on()

    def took_result(self, call: OutsideCall, outcome: Outcome) -> None:
        """An outside call came back, or nobody knows what became of it."""
        self._end_call(call.step, call.place, LOST if outcome.is_unknown else outcome, call.begun)
        self._go_on()

    def said_more(self) -> None:
        """The customer went on writing while it waited for the model, whose answer is not waited for any more."""
        self._begin_anew()

    def stopped(self) -> None:
        """A person stopped it while it waited."""
        raise Stopped

    def _go_on(self) -> None:
        said = self.said
        if said is None:
            raise ValueError("A turn goes on behind an answer of the model.")
        if said.is_void and shorten(self.claimed, self.new_calls, said.number + 1, actor=self.system):
            self.move = Over(more_waits=True)
            return
        refuse_unfit(said, may_be_empty=self.claimed.may_be_silent or self.loop.has_spoken_to_agents)
        if not said.goes_on:
            self._reply(said)
            return
        self.loop.refuse_another()
        if self._have_called(said):
            self.loop.add(said.with_calls(tuple(self.answers[place].call for place in sorted(self.answers))))
            standing = self._keep(self.loop.asking)
            if not standing.may_go_on:
                raise Stopped
            if not (standing.said_more and self._begin_anew()):
                self.move = self._asks()

    def _asks(self) -> AskModel:
        return AskModel(self.loop.request(), self.claimed.terms.reached)

    def _reply(self, said: Said) -> None:
        if self.asked is None:
            raise ValueError("A turn replies to what it was asked.")
        steps = [*self.loop.steps, said.with_calls(())]
        assembled = self.loop.account.frozen.assembled
        written = Written(self.claimed, self.asked, steps, assembled, self.new_calls, said.is_cut)
        try:
            self.move = Over(leave(written, actor=self.system).more_waits)
        except SaidMore:
            self._begin_anew()

    def _begin_anew(self) -> bool:
        """Ask again with all that has arrived; false where the turn goes on as it is."""
        anew = begun_anew(self.claimed, self.new_calls, self.new_tools, actor=self.system)
        if anew is None:
            return False
        self.claimed, self.said, self.answers, self.new_calls, self.new_tools = anew.claimed, None, {}, [], []
        self.start(self.loop.account.frozen)
        if not anew.may_go_on:
            raise Stopped
        return True

    def _have_called(self, said: Said) -> bool:
        """Call what the answer wants called, in its order; false where the turn waits for an outside call."""
        for place, asked in enumerate(said.uses):
            known = self.answers.get(place)
            if known and not known.is_open:
                continue
            use = self.caller.meant(asked)
            outside = self.caller.outside(use, is_begun=known is not None)
            call = OutsideCall(outside, said.number, place, use, self._key(said.number, place)) if outside else None
            if not (self._again(call, known, place, said) if known else self._call(call, use, place, said)):
                return False
        return True

    def _call(self, outside: OutsideCall | None, use: ToolUse, place: int, said: Said) -> bool:
        if refused := self.caller.refused(use):
            self._note(said.number, place, refused, ToolStep.RepeatSafety.READ_ONLY)
        elif outside:
            begun = outside.begun, outside.tool.repeat_safety, ToolStep.State.STARTED
            with self.caller.begins(use, self.turn, self.system) as withheld:
                if withheld:
                    self._note(said.number, place, withheld, ToolStep.RepeatSafety.READ_ONLY)
                    return True
                self.new_tools.append(tool_row(said.number, place, *begun))
                self._keep(said.number)
            self.move = outside
            return False
        elif self.caller.house[use.name].reads:
            self._note(said.number, place, self.caller.made(use), ToolStep.RepeatSafety.READ_ONLY)
        else:
            with acting(self.system):
                hold(self.turn)
                self._note(said.number, place, self.caller.made(use), ToolStep.RepeatSafety.TRANSACTIONAL)
                self._keep(said.number)
        return True

    def _again(self, outside: OutsideCall | None, known: KeptCall, place: int, said: Said) -> bool:
        """A call that was begun and never ended: made again where that is safe, else nobody knows what it did."""
        if outside and known.may_be_repeated and outside.tool.repeat_safety is not ToolStep.RepeatSafety.UNSAFE:
            self.move = outside
            return False
        self._end_call(said.number, place, LOST, known.call)
        return True

    def _end_call(self, step: int, place: int, outcome: Outcome, begun: ToolCall) -> None:
        settle_call(self.claimed, (step, place), outcome, begun.name, actor=self.system)
        answered = outcome.answering(begun)
        self.caller.recall([answered])
        self.answers[place] = KeptCall(answered)

    def _note(self, step: int, place: int, call: ToolCall, repeat_safety: ToolStep.RepeatSafety) -> None:
        self.new_tools.append(tool_row(step, place, call, repeat_safety, ToolStep.State.DONE))
        self.answers[place] = KeptCall(call)

    def _keep(self, asking: int) -> Standing:
        standing = keep(self.turn, self.new_calls, self.new_tools, asking, actor=self.system)
        self.claimed.money.day_left = standing.day_left
        self.claimed = replace(self.claimed, is_sending_paused=standing.is_sending_paused)
        self.new_calls, self.new_tools, self.turn.failed_calls = [], [], 0
        return standing

    def _key(self, step: int, place: int) -> str:
        return f"{self.turn.pk}:{self.turn.round}:{step}:{place}"

    def _give_up(self, code: str, sentence: str) -> None:
        self.move = Over(fail(self.claimed, self.asked, self.new_calls, code, sentence, actor=self.system).more_waits)

    def _put_off(self, error: BackendError) -> None:
        """Wait where time or an operator can help."""
        if isinstance(error, ContextExceeded) and shorten(self.claimed, (), self.loop.asking, actor=self.system):
            self.move = Over(more_waits=True)
            return
        if error.who_acts is WhoActs.DEVELOPER:
            self._give_up(error.code, str(error))
            return
        put_off(self.claimed, error, actor=self.system)
        self.move = Over()

    def _lay_down(self) -> None:
        """A person stopped it. One who answers in its place ends it; otherwise what is paid for is kept for when they let go."""
        if is_taken_over(self.claimed.conversation, actor=self.system):
            self.move = Over(cancel(self.claimed, self.asked, self.new_calls, actor=self.system).more_waits)
            return
        if self.new_calls:
            self._keep(self.loop.asking)
        lay_down(self.claimed, actor=self.system)
        self.move = Over()
