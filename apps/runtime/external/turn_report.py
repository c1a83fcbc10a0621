"""Takes an external agent's report on a turn, writes it into the journal and ends the turn like one of our own agents' turns."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from apps.conversations.models import InboundEvent
from apps.conversations.rules import ToolCall
from apps.desk.models import Draft
from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as, execute_as
from apps.governance.database.sql_files import load_query
from apps.governance.errors import Conflict, Invalid
from apps.governance.stored_text import content_sha256
from apps.llm.model_backend import JsonObject, ModelReply, ToolUse
from apps.prompt.builtin_tools import BUILTIN_TOOL_NAMES, ROUTING_TOOLS
from apps.prompt.rendering.data_fences import canonical_json
from apps.runtime.external.external_tool_calls import calls_of_turn, find_external_turn, refuse_ended_turn
from apps.runtime.external.report_parsing import (
    InvalidReport,
    ReportedMessage,
    ReportedReply,
    parse_replies,
    storable_json,
)
from apps.runtime.external.turn_handout import claim_for_request
from apps.runtime.kill_switch_checks import StoppedByPerson, is_taken_over
from apps.runtime.models import ModelCall, ToolStep, Turn
from apps.runtime.sessions.prompt_cache_ledger import build_call_notes
from apps.runtime.tools.toolbox import NO_TOOLS
from apps.runtime.turn_store.journal_rows import call_row, tool_row
from apps.runtime.turn_store.model_steps import AssistantMessage
from apps.runtime.turn_store.turn_claim import TurnClaim
from apps.runtime.turn_store.turn_journal import ClosedTurn, FenceLost, RenderedUserTurn, record_steps
from apps.runtime.turns.model_loop import ModelLoop, TurnFailed, refuse_unusable_reply
from apps.runtime.turns.turn_completion import (
    EXTERNAL_AGENT_FAILED,
    FinishedReply,
    cancel_turn,
    deliver_reply,
    fail_turn,
)
from apps.runtime.turns.turn_setup import set_up_turn
from apps.tenants.authentication.actor_resolution import system_actor

_STORE_REPORT: Final = load_query("apps/runtime/external/queries/store_report.sql")

CALL_NOT_MADE: Final = (
    "{name} is a built-in tool, but this turn has no such call at calls/. Call it there with the id that the model gave the"
    " call, and report the result that calls/ returns."
)
INSTRUCTIONS: Final = {
    Turn.Outcome.REPLIED: "Send the reply to the customer.",
    Turn.Outcome.DRAFTED: "Send nothing. A person reads the reply first; a webhook or events/ tells what became of it.",
    Turn.Outcome.OBSERVED: "Send nothing. The agent only takes notes at present.",
    Turn.Outcome.ESCALATED: "Send nothing. A person was asked instead.",
    Turn.Outcome.SILENT: "There is nothing to send.",
}


def report_refusal(flaw: str) -> Invalid:
    """The refusal of a report that cannot be stored, with the flaw."""
    return Invalid(f"The report cannot be taken. {flaw}", {"messages": [flaw]})


@dataclass(frozen=True, slots=True)
class ExternalTurnReport:
    """An external agent's report on a turn: the messages, and in `failure` the reason if there is no reply.

    `sha256` identifies the report, so that a repeated one is recognised.
    """

    messages: Sequence[ReportedMessage]
    sha256: str
    failure: str = ""

    @classmethod
    def of(cls, messages: Sequence[ReportedMessage], idempotency_key: str, failure: str = "") -> "ExternalTurnReport":
        """Build the report from the values sent. Raises Invalid if they cannot be stored."""
        payload: dict[str, Any] = {"key": idempotency_key, "messages": list(messages), "failure": failure}
        try:
            stored: Any = storable_json(payload)
        except InvalidReport as flaw:
            raise report_refusal(str(flaw)) from flaw
        return cls(stored["messages"], content_sha256(canonical_json(stored)), stored["failure"])


@dataclass(frozen=True, slots=True)
class ReportedTurn:
    """A reported turn after its end."""

    turn: Turn
    draft_id: int | None
    cost_micro_usd: int | None
    has_waiting_messages: bool

    @property
    def may_send(self) -> bool:
        """Whether the external agent may send the reply to the customer."""
        return self.turn.outcome == Turn.Outcome.REPLIED

    @property
    def instruction(self) -> str:
        """What the external agent should do now, in one sentence."""
        return INSTRUCTIONS[Turn.Outcome(self.turn.outcome)]


@dataclass(slots=True)
class ReportWriter:
    """Writes a report into the journal: the rows of its model calls, and of the tools that the agent called itself."""

    claimed: TurnClaim
    asked: RenderedUserTurn
    loop: ModelLoop
    made: dict[str, ToolCall]
    system: Actor
    calls: list[JsonObject] = field(default_factory=list)
    tools: list[JsonObject] = field(default_factory=list)

    def add(self, answer: ReportedReply) -> AssistantMessage:
        """Add one reported model call to the exchange, and build its journal row with the cache notes."""
        account, number = self.loop.account, self.loop.asking
        message = AssistantMessage(number, answer.text, answer.wire, answer.stop_reason.value)
        reply = ModelReply(
            "", answer.model, answer.stop_reason, (), answer.text, answer.uses, answer.usage, is_stand_in=False
        )
        # The time of the call is not reported. The start of the turn is the earliest possible time, so the call's cached prefixes
        # are never taken for younger than they are.
        planned = replace(account.plan(self.loop.messages), requested_at=self.claimed.turn.started_at)
        notes = build_call_notes(planned, reply, account)
        account.keep(planned, reply)
        self.calls.append(call_row(message, reply, notes, self.asked.stored if number == 1 else None, account.rates))
        called = tuple(
            self._resolve_call(use, answer, place, number) for place, use in enumerate(answer.uses) if answer.results
        )
        self.loop.add_step(message.with_calls(called))
        return message

    def _resolve_call(self, use: ToolUse, answer: ReportedReply, place: int, number: int) -> ToolCall:
        if use.name in BUILTIN_TOOL_NAMES or use.name in ROUTING_TOOLS:
            made = self.made.get(use.tool_use_id)
            if made is None or (made.name, made.arguments) != (use.name, use.arguments):
                raise report_refusal(CALL_NOT_MADE.format(name=use.name))
            return made
        if use.tool_use_id in self.made:
            raise report_refusal(f"The call {use.tool_use_id[:60]} was made here under another name.")
        result = answer.results[use.tool_use_id]
        call = ToolCall(use.tool_use_id, use.name, {**use.arguments}, result.text, result.is_error)
        self.tools.append(tool_row(number, place, call, ToolStep.RepeatSafety.UNSAFE, ToolStep.State.DONE))
        return call

    def ended(self, report: ExternalTurnReport, end: Callable[[Sequence[JsonObject]], ClosedTurn]) -> ClosedTurn:
        """Store the report and end the turn in one commit. `end` ends the turn and gets the row of the last model call."""
        turn = self.claimed.turn
        with acting_as(self.system):
            if not execute_as(
                self.system, _STORE_REPORT, {"turn": turn.pk, "fence": turn.fence, "sha256": report.sha256}
            ):
                raise FenceLost(turn)
            record_steps(turn, self.calls[:-1], self.tools, self.loop.asking, actor=self.system)
            return end(self.calls[-1:])


def take_report(session_id: int, turn_id: int, report: ExternalTurnReport, *, actor: Actor) -> ReportedTurn:
    """End a turn with the report of the external agent that took it. A repeated report gets the same answer."""
    turn = find_external_turn(session_id, turn_id, actor=actor)
    system = system_actor(actor.tenant_id, "worker")
    if turn.external_user_turn is None or turn.status != Turn.Status.RUNNING:
        return _repeat_result(turn, report, system)
    try:
        wire = RenderedUserTurn.kept(turn.external_user_turn).wire
        answers = parse_replies(report.messages, wire, is_whole=not report.failure)
    except InvalidReport as flaw:
        raise report_refusal(str(flaw)) from flaw
    with claim_for_request(turn.conversation, system) as claimed:
        _end_turn(claimed, answers, report, system)
    with acting_as(system):
        turn.refresh_from_db()
    return _reported_turn(turn, system)


def _end_turn(claimed: TurnClaim, answers: Sequence[ReportedReply], report: ExternalTurnReport, system: Actor) -> None:
    if claimed.asked is None:
        raise ValueError("What is reported was handed out.")
    asked = RenderedUserTurn.kept(claimed.asked)
    loop, _ = set_up_turn(claimed, asked, NO_TOOLS, system=system)
    if answers:
        loop.account.model = answers[0].model
    telling = ReportWriter(
        claimed, asked, loop, {call.call_id: call for call in calls_of_turn(claimed, system)}, system
    )
    messages = [telling.add(answer) for answer in answers]
    try:
        if report.failure:
            raise TurnFailed(EXTERNAL_AGENT_FAILED, f"The agent that runs elsewhere says: {report.failure}")
        refuse_unusable_reply(messages[-1], may_be_empty=claimed.may_be_silent or loop.has_spoken_to_agents)
        written = FinishedReply(claimed, asked, loop.steps, loop.account.frozen.assembled, (), messages[-1].is_cut)
        telling.ended(report, lambda last: deliver_reply(replace(written, new_calls=last), actor=system))
    except TurnFailed as failed:
        code, sentence = failed.code, str(failed)
        telling.ended(report, lambda last: fail_turn(claimed, asked, last, code, sentence, actor=system))
    except StoppedByPerson:
        # If a kill switch stopped the turn, the agent reports it again later. If a colleague took over, the turn is cancelled and
        # only its cost is recorded.
        if not is_taken_over(claimed.conversation, actor=system):
            raise
        telling.ended(report, lambda last: cancel_turn(claimed, asked, last, actor=system))


def _repeat_result(turn: Turn, report: ExternalTurnReport, system: Actor) -> ReportedTurn:
    if turn.status == Turn.Status.RUNNING:
        raise Conflict("This turn was never handed out whole. Open the session again.")
    if turn.report_sha256 != report.sha256:
        refuse_ended_turn(turn)
    return _reported_turn(turn, system)


def _reported_turn(turn: Turn, system: Actor) -> ReportedTurn:
    if turn.status == Turn.Status.CANCELLED:
        refuse_ended_turn(turn)
    with acting_as(system):
        costs = list(ModelCall.objects.filter(turn=turn).values_list("cost_micro_usd", flat=True))
        draft = Draft.objects.visible_to(system).filter(turn_id=turn.pk).values_list("pk", flat=True).first()
        more = InboundEvent.objects.filter(conversation_id=turn.conversation_id, turn_id=None).exists()
    return ReportedTurn(turn, draft, None if None in costs else sum(filter(None, costs)), more)
