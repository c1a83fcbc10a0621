"""Ends a turn: its reply is sent, becomes a draft for review or is only recorded, or the turn fails or is cancelled.

Every turn ends in one commit. `close_turn` writes the last steps, the transcript, the reply and the turn's state in one statement
(`turn_store/queries/close_turn.sql`), which writes nothing if another worker has claimed the turn or a person has forbidden this
end. Other rows of an end (a draft, an escalation, the answer to an agent that delegated) are written in the same transaction,
after `lock_turn`. If a worker dies before the commit, nothing of the end is stored, and the turn is claimed again.

- `deliver_reply` ends a turn that has an answer, by the send mode: autonomous sends the answer, suggest makes a draft, and
  observe only records it. A scheduled run with nothing to report or a turn with an empty answer ends silently. Answers in a
  member's talk are always sent.
- `fail_turn` ends a turn without an answer and escalates. `cancel_turn` ends a turn whose conversation a person took over.
- `wait_for_budget` does not end the turn: it postpones the turn until the budget allows another call.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from apps.conversations.actions import abandon_conversation
from apps.conversations.models import InboundEvent
from apps.conversations.rules import ToolCall
from apps.desk.actions import make_draft, open_escalation
from apps.desk.models import Escalation, SendRule
from apps.desk.rules import Grounding, GroundingFact, SendRuleValue, grounding_of
from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as, execute_as
from apps.governance.database.sql_files import load_query
from apps.governance.errors import Conflict
from apps.kill_switches.actions import activate_kill_switch
from apps.kill_switches.models import KillSwitch
from apps.llm.model_backend import Json, JsonObject
from apps.prompt.builtin_tools import BUILTIN_TOOL_NAMES, DELEGATE, ROUTING_TOOLS
from apps.prompt.memory_lines.line_diff import split_lines
from apps.prompt.prompt_input import SendMode, Slot
from apps.prompt.rendering.scheduled_task import reports_nothing
from apps.prompt.rendering.segments import PromptSnapshot
from apps.prompt.text_reuse.derived_lines import ReceivedTexts, find_derived_lines
from apps.runtime.kill_switch_checks import (
    STOPS_ANSWERING,
    STOPS_SENDING,
    StoppedByPerson,
    is_answering_paused,
    is_sending_paused,
    is_taken_over,
)
from apps.runtime.limits.turn_budgets import DayBudgetSpent, TurnKind
from apps.runtime.models import Turn
from apps.runtime.tools.delegation_answers import (
    NO_ANSWER,
    OBSERVE_ONLY,
    WAITS_FOR_A_PERSON,
    relay_to_parent,
    text_passed_on,
)
from apps.runtime.tools.tool_approvals import is_waiting_call
from apps.runtime.tools.toolbox import CallOutcome
from apps.runtime.turn_store.model_steps import TurnStep, canonical_object, skills_read
from apps.runtime.turn_store.turn_claim import TurnClaim
from apps.runtime.turn_store.turn_journal import (
    REPLIED,
    ClosedTurn,
    RenderedUserTurn,
    TurnEnd,
    close_turn,
    end_call,
    lock_turn,
    postpone,
)
from apps.runtime.turns.delay_notices import send_delay_notice
from apps.tenants.models import Agent

_NOTE_BUDGET_ALERT: Final = load_query("apps/runtime/turns/queries/note_budget_alert.sql")

DRAFTED: Final = TurnEnd(Turn.Status.DONE, Turn.Outcome.DRAFTED)
OBSERVED: Final = TurnEnd(Turn.Status.DONE, Turn.Outcome.OBSERVED)
SILENT: Final = TurnEnd(Turn.Status.DONE, Turn.Outcome.SILENT)
# Appended to the draft of an answer that was cut off at the length limit. The person who sends the draft completes the answer.
CUT_MARK: Final = " […]"
TAKEN_OVER: Final = TurnEnd(
    Turn.Status.CANCELLED, Turn.Outcome.SILENT, "taken_over", "A colleague took the conversation over."
)

# Failure codes of turns of external agents.
NOT_REPORTED: Final = "not_reported"
EXTERNAL_AGENT_FAILED: Final = "external_agent_failed"

# The delay before a turn checks the budget again, since the budget may be raised or the next day may begin at any time.
BUDGET_WAIT_SECONDS = 15 * 60

# The reason of the escalation for each failure code. Other codes escalate as something that the agent cannot do.
REASON_BY_CODE: Final = {
    "refusal": Escalation.Reason.POLICY,
    "steps_spent": Escalation.Reason.BUDGET,
    "turn_budget_spent": Escalation.Reason.BUDGET,
    "calls_repeated": Escalation.Reason.BUDGET,
    "agent_loop": Escalation.Reason.BUDGET,
    "empty_reply": Escalation.Reason.MISSING_KNOWLEDGE,
    "attempts_spent": Escalation.Reason.MODEL_UNAVAILABLE,
    NOT_REPORTED: Escalation.Reason.MODEL_UNAVAILABLE,
    "bad_request": Escalation.Reason.MODEL_UNAVAILABLE,
}


@dataclass(frozen=True, slots=True)
class FinishedReply:
    """A turn's answer with all steps that led to it; the last step is the answer."""

    claimed: TurnClaim
    asked: RenderedUserTurn
    steps: Sequence[TurnStep]
    assembled: PromptSnapshot
    new_calls: Sequence[JsonObject]
    is_cut: bool = False

    @property
    def words(self) -> str:
        """The text of the answer. For a delegated turn, the text that the agent passed on with its tool, if any."""
        passed = text_passed_on(self.tool_calls) if self.claimed.conversation.is_asked else ""
        return passed or self.steps[-1].text

    @property
    def whole_steps(self) -> Sequence[TurnStep]:
        """The steps as the transcript has them. An answer that was only passed on with the tool is added at the end."""
        last = self.steps[-1]
        if last.text.strip():
            return self.steps
        wire = canonical_object({"role": "assistant", "content": [{"type": "text", "text": self.words}]})
        return [*self.steps[:-1], replace(last, text=self.words, said=wire)]

    @property
    def tool_calls(self) -> Iterator[ToolCall]:
        """All tool calls that succeeded."""
        return (call for step in self.steps for call in step.calls if not call.is_error)


@dataclass(frozen=True, slots=True)
class SendTerms:
    """The rules that decide whether a reply is sent. If `needs_person`, a person has to send it whatever the rules say."""

    agent: Agent
    rules: tuple[SendRuleValue, ...]
    needs_person: bool


def deliver_reply(written: FinishedReply, *, actor: Actor) -> ClosedTurn:
    """End a turn with its answer. Raises `StoppedByPerson` if an operator paused the agent or a colleague took over."""
    claimed = written.claimed
    if claimed.kind is TurnKind.SCHEDULED and reports_nothing(written.words):
        return _end_silently(written, actor)
    if not written.words.strip():
        return _close_without_reply(written, SILENT, actor)
    if claimed.conversation.is_talk:
        # A pause of replies to customers does not pause answers to members.
        replied = (claimed, written.asked, written.whole_steps, REPLIED, written.new_calls)
        return close_turn(*replied, STOPS_ANSWERING, actor=actor)
    # An answer that was cut off needs a person to complete it. While sending is paused, every reply needs a person.
    terms = SendTerms(claimed.agent, claimed.context.rules, needs_person=written.is_cut)
    while (closed := _deliver_by(terms, written, actor)) is None:
        terms = _reread_send_terms(claimed, actor)
    return closed


def _deliver_by(terms: SendTerms, written: FinishedReply, actor: Actor) -> ClosedTurn | None:
    """Send the answer, make a draft of it or only record it. None if sending was refused because the rules changed meanwhile."""
    claimed = written.claimed
    # The text of a skill that was read for an earlier reply is still in the history, and the model follows it without a new read.
    followed_skills = claimed.context.history.skills | frozenset(skills_read(written.tool_calls))
    mode = claimed.send_mode_by(terms.rules, terms.agent.send_mode, followed_skills)
    if mode is SendMode.OBSERVE:
        return _observe(written, actor)
    if mode is not SendMode.AUTONOMOUS or terms.needs_person:
        return _make_draft(written, actor)
    try:
        # The statement that closes the turn compares these rules with the current ones, and writes nothing if they differ.
        return _send_reply(written, _rules_as_json(terms), actor)
    except StoppedByPerson:
        return None


def _send_reply(written: FinishedReply, rules: Json, actor: Actor) -> ClosedTurn:
    """Send the answer, and in the same commit relay it to the agent that delegated, if there is one."""
    claimed, conversation = written.claimed, written.claimed.conversation
    given = (claimed, written.asked, written.whole_steps, REPLIED, written.new_calls, STOPS_SENDING)
    if not conversation.is_asked:
        return close_turn(*given, actor=actor, rules=rules)
    with acting_as(actor):
        lock_turn(claimed.turn)
        closed = close_turn(*given, actor=actor, rules=rules)
        _tell_calling_agent(claimed, InboundEvent.Kind.ANSWER, written.words)
    return closed


def _observe(written: FinishedReply, actor: Actor) -> ClosedTurn:
    with acting_as(actor):
        closed = _close_without_reply(written, OBSERVED, actor)
        _tell_calling_agent(written.claimed, InboundEvent.Kind.ANSWER, OBSERVE_ONLY)
    return closed


def _tell_calling_agent(claimed: TurnClaim, kind: InboundEvent.Kind, text: str) -> None:
    """Send an event to the agent that delegated, if there is one, in the commit that ends the turn."""
    relay_to_parent(claimed.conversation, kind, text, f"turn-{claimed.turn.pk}")


def _reread_send_terms(claimed: TurnClaim, actor: Actor) -> SendTerms:
    """The current send rules, and whether sending is paused. Raises `StoppedByPerson` if the agent is paused entirely."""
    conversation = claimed.conversation
    if is_answering_paused(conversation, actor=actor) or is_taken_over(conversation, actor=actor):
        raise StoppedByPerson
    with acting_as(actor):
        agent = Agent.objects.visible_to(actor).get(pk=claimed.agent.pk)
        rules = SendRule.objects.visible_to(actor).sendings(agent.pk)
    return SendTerms(agent, rules, is_sending_paused(conversation, actor=actor))


def _end_silently(written: FinishedReply, actor: Actor) -> ClosedTurn:
    """End the turn without a reply. The conversation ends too, unless the turn has delegated a question (R121)."""
    with acting_as(actor):
        lock_turn(written.claimed.turn)
        closed = _close_without_reply(written, SILENT, actor)
        if not any(call.name == DELEGATE for call in written.tool_calls):
            abandon_conversation(written.claimed.conversation, actor=actor)
    return closed


def _rules_as_json(terms: SendTerms) -> Json:
    """The send rules in the form that the closing statement compares."""
    return [terms.agent.send_mode, [[rule.mode.value, rule.channel, rule.skill_id] for rule in terms.rules]]


def _make_draft(written: FinishedReply, actor: Actor) -> ClosedTurn:
    """Make a draft of the answer in the commit that ends the turn."""
    claimed, facts = written.claimed, tuple(_facts(written))
    text = f"{written.words}{CUT_MARK}" if written.is_cut else written.words
    with acting_as(actor):
        lock_turn(claimed.turn)
        closed = _close_without_reply(written, DRAFTED, actor)
        make_draft(
            claimed.conversation.pk,
            actor=actor,
            agent_id=claimed.agent.pk,
            turn_id=claimed.turn.pk,
            text=text,
            grounding=grounding_of(facts),
            facts=facts,
        )
        _tell_calling_agent(claimed, InboundEvent.Kind.PROGRESS, WAITS_FOR_A_PERSON)
    return closed


def _close_without_reply(written: FinishedReply, ending: TurnEnd, actor: Actor) -> ClosedTurn:
    """End the turn without a reply. The transcript leaves the answer out; the journal has its text with the model call."""
    steps_before_answer = written.steps[:-1]
    return close_turn(
        written.claimed, written.asked, steps_before_answer, ending, written.new_calls, STOPS_ANSWERING, actor=actor
    )


def fail_turn(
    claimed: TurnClaim,
    asked: RenderedUserTurn | None,
    new_calls: Sequence[JsonObject],
    code: str,
    sentence: str,
    *,
    actor: Actor,
) -> ClosedTurn:
    """End a turn without a reply and ask a person, so that the customer is not left unanswered. The customer's messages stay."""
    # A member reads the reason on the page of the talk, so no person is asked.
    outcome = Turn.Outcome.SILENT if claimed.conversation.is_talk else Turn.Outcome.ESCALATED
    ending = TurnEnd(Turn.Status.FAILED, outcome, code, sentence)
    reason = REASON_BY_CODE.get(code, Escalation.Reason.UNSUPPORTED)
    with acting_as(actor):
        lock_turn(claimed.turn)
        closed = close_turn(claimed, asked, (), ending, new_calls, (), actor=actor)
        escalate(claimed, reason, f"The agent gave no answer. {sentence}", actor=actor)
        _tell_calling_agent(claimed, InboundEvent.Kind.ANSWER, NO_ANSWER.format(why=sentence))
    return closed


def cancel_turn(
    claimed: TurnClaim, asked: RenderedUserTurn | None, new_calls: Sequence[JsonObject], *, actor: Actor
) -> ClosedTurn:
    """End a turn because a person took the conversation over."""
    return close_turn(claimed, asked, (), TAKEN_OVER, new_calls, (), actor=actor)


def pause_agent_for_spending(claimed: TurnClaim, *, actor: Actor) -> None:
    """Pause the agent because its model account is out of money, and ask an operator once. Lifting the switch resumes it."""
    if claimed.conversation.is_trial:
        # Members read the reason on the page of the talk. The next turn with a customer pauses the agent and asks a person.
        return
    agent = claimed.agent
    reason = "The model's account has reached its spending limit. Raise the limit, then lift this switch."
    with suppress(Conflict):
        activate_kill_switch(KillSwitch.Kind.PAUSE_AGENT, actor=actor, reason=reason, agent_id=agent.pk)
    escalate(claimed, Escalation.Reason.BUDGET, "The model's account has reached its spending limit.", actor=actor)


def wait_for_budget(claimed: TurnClaim, spent: DayBudgetSpent, *, actor: Actor) -> None:
    """Postpone the turn until the tenant's budget of the day allows it. The customer gets the agent's delay notice.

    A person is asked once a day for each agent.
    """
    turn, agent = claimed.turn, claimed.agent
    question = "The budget of the day is spent. Customers are answered tomorrow, or once you raise it in the settings."
    # Members read the reason on the page of the talk. The one alert of the day is for people who answer customers.
    may_alert = not claimed.conversation.is_talk
    with acting_as(actor):
        lock_turn(turn)
        if may_alert and execute_as(actor, _NOTE_BUDGET_ALERT, {"agent": agent.pk}):
            escalate(claimed, Escalation.Reason.BUDGET, question, actor=actor)
        send_delay_notice(claimed, actor=actor)
        postpone(turn, spent.code, str(spent), BUDGET_WAIT_SECONDS, turn.failed_calls, actor=actor)


def record_call_outcome(
    claimed: TurnClaim, place: tuple[int, int], outcome: CallOutcome, name: str, *, actor: Actor
) -> None:
    """Write the outcome of an external call. If it is unknown, a person is asked in the same commit."""
    with acting_as(actor):
        end_call(claimed.turn, *place, outcome, actor=actor)
        if outcome.is_unknown:
            question = f"It is not known whether {name} happened. Look, and tell the customer."
            escalate(claimed, Escalation.Reason.UNKNOWN_OUTCOME, question, actor=actor)


def escalate(claimed: TurnClaim, reason: Escalation.Reason, question: str, *, actor: Actor) -> None:
    """Ask a person about this conversation. A member's talk is private, so nobody is asked about it."""
    if claimed.conversation.is_talk:
        return
    open_escalation(
        claimed.conversation.pk,
        actor=actor,
        agent_id=claimed.agent.pk,
        turn_id=claimed.turn.pk,
        reason=reason,
        question=question,
    )


def _facts(written: FinishedReply) -> Iterator[GroundingFact]:
    """The facts that the answer is grounded on, from the journal and never from the model's own claims (R136)."""
    yield from _skill_facts(written)
    yield from (
        GroundingFact(Grounding.TOOL, call.name)
        for call in written.tool_calls
        if call.name not in BUILTIN_TOOL_NAMES and call.name not in ROUTING_TOOLS and not is_waiting_call(call)
    )
    profile = next((part.text for part in written.assembled.parts if part.slot is Slot.PROFILE), "")
    if profile and find_derived_lines(split_lines(written.steps[-1].text), ReceivedTexts(customers=(profile,))):
        yield GroundingFact(Grounding.PROFILE, "customer profile")


def _skill_facts(written: FinishedReply) -> Iterator[GroundingFact]:
    return (GroundingFact(Grounding.SKILL, f"skill {pk}", pk) for pk in skills_read(written.tool_calls))
