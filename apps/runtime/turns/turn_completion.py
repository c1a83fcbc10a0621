"""How a turn ends: its reply leaves, waits for a person or is only noted; or a person is asked, or takes over."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from apps.conversations.actions import abandon_conversation
from apps.conversations.models import InboundEvent
from apps.conversations.rules import ToolCall
from apps.desk.actions import make_draft, open_escalation
from apps.desk.models import Escalation, SendRule
from apps.desk.rules import Fact, Grounding, Sending, grounding_of, mode_of
from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting, one_shot
from apps.governance.errors import Conflicting
from apps.kill_switches.actions import throw_switch
from apps.kill_switches.models import KillSwitch
from apps.llm.model_backend import Json, JsonObject
from apps.prompt.builtin_tools import DELEGATE, HOUSE, ROUTING
from apps.prompt.memory_lines.line_diff import lines_of
from apps.prompt.prompt_input import SendMode, Slot
from apps.prompt.rendering.scheduled_task import reports_nothing
from apps.prompt.rendering.segments import Assembled
from apps.prompt.text_reuse.derived_lines import Heard, derived
from apps.runtime.kill_switch_checks import (
    ANSWERING,
    SENDING,
    Stopped,
    is_answering_paused,
    is_sending_paused,
    is_taken_over,
)
from apps.runtime.limits.turn_budgets import DaySpent, TurnKind
from apps.runtime.models import Turn
from apps.runtime.tools.delegation_answers import NO_ANSWER, ONLY_NOTED, WAITS_FOR_A_PERSON, passed_on, relay
from apps.runtime.tools.tool_approvals import only_waits
from apps.runtime.tools.toolbox import Outcome
from apps.runtime.turn_store.journal_sql import TELL
from apps.runtime.turn_store.model_steps import Step, canonical_object, skills_read
from apps.runtime.turn_store.turn_claim import Claim
from apps.runtime.turn_store.turn_journal import REPLIED, Asked, Closed, Ending, close, end_call, hold, postpone
from apps.tenants.models import Agent

DRAFTED: Final = Ending(Turn.Status.DONE, Turn.Outcome.DRAFTED)
OBSERVED: Final = Ending(Turn.Status.DONE, Turn.Outcome.OBSERVED)
SILENT: Final = Ending(Turn.Status.DONE, Turn.Outcome.SILENT)
# Behind an answer that was cut off at its longest; whoever sends it completes it.
CUT: Final = " […]"
TAKEN_OVER: Final = Ending(
    Turn.Status.CANCELLED, Turn.Outcome.SILENT, "taken_over", "A colleague took the conversation in hand."
)

# Of an agent that runs elsewhere.
NOT_REPORTED: Final = "not_reported"
GAVE_UP: Final = "external_agent_failed"

# A budget may be raised, or a day begin, at any time.
LOOK_AGAIN_SECONDS = 15 * 60

# Why a person is asked where a turn ends without a reply; what is not named here, the agent cannot do.
REASONS: Final = {
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
class Written:
    """A turn's answer with all that led to it; the last step is the answer."""

    claimed: Claim
    asked: Asked
    steps: Sequence[Step]
    assembled: Assembled
    new_calls: Sequence[JsonObject]
    is_cut: bool = False

    @property
    def words(self) -> str:
        """The answer; of an agent that was asked by another what it passed on, if it passed anything on."""
        passed = passed_on(self.tool_calls) if self.claimed.conversation.is_asked else ""
        return passed or self.steps[-1].text

    @property
    def whole_steps(self) -> Sequence[Step]:
        """The steps as the transcript has them: an answer that was passed on and never repeated is said at the end."""
        last = self.steps[-1]
        if last.text.strip():
            return self.steps
        said = canonical_object({"role": "assistant", "content": [{"type": "text", "text": self.words}]})
        return [*self.steps[:-1], replace(last, text=self.words, said=said)]

    @property
    def tool_calls(self) -> Iterator[ToolCall]:
        """Every call that gave a result."""
        return (call for step in self.steps for call in step.calls if not call.is_error)


def mode_at_first(claimed: Claim) -> SendMode:
    """What becomes of the reply, as people had set it when the turn was claimed (R134)."""
    return _mode(claimed, claimed.brought.rules, claimed.agent.send_mode, claimed.brought.history.skills)


def leave(written: Written, *, actor: Actor) -> Closed:
    """End a turn with its answer. Raises `Stopped` where an operator or a colleague holds it.

    It leaves by the rules as they were when the turn was claimed only if they are so still, which the statement that lets it
    out looks at; else by those that stand now.
    """
    # A runbook that was read for an earlier reply still stands before the model, which follows it unread.
    claimed = written.claimed
    fetched = claimed.brought.history.skills | frozenset(skills_read(written.tool_calls))
    if claimed.kind is TurnKind.SCHEDULED and reports_nothing(written.words):
        return _come_to_nothing(written, actor)
    if not written.words.strip():
        return _note(written, SILENT, actor)
    # Half a sentence leaves only by a person, as everything does while sending is paused.
    agent, rules, by_person = claimed.agent, claimed.brought.rules, written.is_cut
    if claimed.conversation.is_talk:
        # What holds replies to customers holds no answer to a colleague.
        return close(claimed, written.asked, written.whole_steps, REPLIED, written.new_calls, ANSWERING, actor=actor)
    while (mode := _mode(claimed, rules, agent.send_mode, fetched)) is SendMode.AUTONOMOUS and not by_person:
        try:
            return _reply(written, _stated(agent, rules), actor)
        except Stopped:
            agent, rules, by_person = _looked_again(claimed, actor)
    return _observe(written, actor) if mode is SendMode.OBSERVE else _draft(written, actor)


def _reply(written: Written, rules: Json, actor: Actor) -> Closed:
    """Let the answer out; to an agent that asked it goes in the same commit."""
    claimed, conversation = written.claimed, written.claimed.conversation
    given = (claimed, written.asked, written.whole_steps, REPLIED, written.new_calls, SENDING)
    if not conversation.is_asked:
        return close(*given, actor=actor, rules=rules)
    with acting(actor):
        hold(claimed.turn)
        closed = close(*given, actor=actor, rules=rules)
        _tell(claimed, InboundEvent.Kind.ANSWER, written.words)
    return closed


def _observe(written: Written, actor: Actor) -> Closed:
    with acting(actor):
        closed = _note(written, OBSERVED, actor)
        _tell(written.claimed, InboundEvent.Kind.ANSWER, ONLY_NOTED)
    return closed


def _tell(claimed: Claim, kind: InboundEvent.Kind, text: str) -> None:
    """Tell the agent that asked, if one did, what becomes of its question, in the commit that ends the turn."""
    relay(claimed.conversation, kind, text, f"turn-{claimed.turn.pk}")


def _looked_again(claimed: Claim, actor: Actor) -> tuple[Agent, tuple[Sending, ...], bool]:
    """How replies are sent now, and whether sending is paused; raises `Stopped` where nothing is answered at all."""
    conversation = claimed.conversation
    if is_answering_paused(conversation, actor=actor) or is_taken_over(conversation, actor=actor):
        raise Stopped
    with acting(actor):
        agent = Agent.objects.visible_to(actor).get(pk=claimed.agent.pk)
        rules = SendRule.objects.visible_to(actor).sendings(agent.pk)
    return agent, rules, is_sending_paused(conversation, actor=actor)


def _come_to_nothing(written: Written, actor: Actor) -> Closed:
    """Post nothing, and leave no open conversation behind that nobody began (R121), unless another agent answers there."""
    with acting(actor):
        hold(written.claimed.turn)
        closed = _note(written, SILENT, actor)
        if not any(call.name == DELEGATE for call in written.tool_calls):
            abandon_conversation(written.claimed.conversation, actor=actor)
    return closed


def _mode(claimed: Claim, rules: Iterable[Sending], send_mode: str, fetched: Collection[int]) -> SendMode:
    if claimed.is_heard_by_nobody:
        return SendMode.OBSERVE
    return mode_of(SendMode(send_mode), rules, claimed.conversation.channel, set(fetched))


def _stated(agent: Agent, rules: Sequence[Sending]) -> Json:
    """The rules as the statement that lets a reply out compares them."""
    return [agent.send_mode, [[rule.mode.value, rule.channel, rule.skill_id] for rule in rules]]


def _draft(written: Written, actor: Actor) -> Closed:
    """Lay the answer on the desk in the commit that ends the turn."""
    claimed, facts = written.claimed, tuple(_facts(written))
    with acting(actor):
        hold(claimed.turn)
        closed = _note(written, DRAFTED, actor)
        make_draft(
            claimed.conversation.pk,
            actor=actor,
            agent_id=claimed.agent.pk,
            turn_id=claimed.turn.pk,
            text=f"{written.words}{CUT if written.is_cut else ''}",
            grounding=grounding_of(facts),
            facts=facts,
        )
        _tell(claimed, InboundEvent.Kind.PROGRESS, WAITS_FOR_A_PERSON)
    return closed


def _note(written: Written, ending: Ending, actor: Actor) -> Closed:
    """The customer was told nothing, so the transcript ends before the answer; its words stand with the model's call."""
    before = written.steps[:-1]
    return close(written.claimed, written.asked, before, ending, written.new_calls, ANSWERING, actor=actor)


def fail(
    claimed: Claim, asked: Asked | None, new_calls: Sequence[JsonObject], code: str, sentence: str, *, actor: Actor
) -> Closed:
    """End a turn without a reply, and ask a person: silence is no ending. What the customer wrote stays."""
    # A member sees for themselves that there is no answer, and why.
    outcome = Turn.Outcome.SILENT if claimed.conversation.is_talk else Turn.Outcome.ESCALATED
    ending = Ending(Turn.Status.FAILED, outcome, code, sentence)
    with acting(actor):
        hold(claimed.turn)
        closed = close(claimed, asked, (), ending, new_calls, (), actor=actor)
        reason = REASONS.get(code, Escalation.Reason.UNSUPPORTED)
        escalate(claimed, reason, f"The agent gave no answer. {sentence}", actor=actor)
        _tell(claimed, InboundEvent.Kind.ANSWER, NO_ANSWER.format(why=sentence))
    return closed


def cancel(claimed: Claim, asked: Asked | None, new_calls: Sequence[JsonObject], *, actor: Actor) -> Closed:
    """End a turn because a person answers in its place."""
    return close(claimed, asked, (), TAKEN_OVER, new_calls, (), actor=actor)


def pause_for_money(claimed: Claim, *, actor: Actor) -> None:
    """The account's money is spent: stop asking, and tell an operator, once. What waits is answered when they lift the switch."""
    if claimed.conversation.is_trial:
        # They read why there is no answer. The next turn with a customer stops the agent, and tells somebody.
        return
    agent = claimed.agent
    reason = "The model's account has reached its spending limit. Raise it, then lift this."
    with suppress(Conflicting):
        throw_switch(KillSwitch.Kind.PAUSE_AGENT, actor=actor, reason=reason, agent_id=agent.pk)
    escalate(claimed, Escalation.Reason.BUDGET, "The model's account has reached its spending limit.", actor=actor)


def wait_for_money(claimed: Claim, spent: DaySpent, *, actor: Actor) -> None:
    """The tenant's day is paid for: look again later, until there is money. A person is asked once a day for each agent."""
    turn, agent = claimed.turn, claimed.agent
    with acting(actor):
        hold(turn)
        # Whoever tries the agent is told on their page; the one word of the day is for people who answer customers.
        if not claimed.conversation.is_talk and one_shot(actor, TELL, {"agent": agent.pk}):
            question = (
                "The budget of the day is spent. Customers are answered tomorrow, or once you raise it in the settings."
            )
            escalate(claimed, Escalation.Reason.BUDGET, question, actor=actor)
        postpone(turn, spent.code, str(spent), LOOK_AGAIN_SECONDS, turn.failed_calls, actor=actor)


def settle_call(claimed: Claim, place: tuple[int, int], outcome: Outcome, name: str, *, actor: Actor) -> None:
    """Write what came of an outside call; where nobody can tell, a person is asked in the same commit."""
    with acting(actor):
        end_call(claimed.turn, *place, outcome, actor=actor)
        if outcome.is_unknown:
            question = f"It is not known whether {name} happened. Look, and tell the customer."
            escalate(claimed, Escalation.Reason.UNKNOWN_OUTCOME, question, actor=actor)


def escalate(claimed: Claim, reason: Escalation.Reason, question: str, *, actor: Actor) -> None:
    """Ask a person about this conversation, as the house; nobody about a member's talk, which nobody else reads."""
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


def _facts(written: Written) -> Iterator[Fact]:
    """What the answer stands on, from the journal and never from the model's opinion of it (R136)."""
    yield from _skills(written)
    yield from (
        Fact(Grounding.TOOL, call.name)
        for call in written.tool_calls
        if call.name not in HOUSE and call.name not in ROUTING and not only_waits(call)
    )
    profile = next((part.text for part in written.assembled.parts if part.slot is Slot.PROFILE), "")
    if profile and derived(lines_of(written.steps[-1].text), Heard(customers=(profile,))):
        yield Fact(Grounding.PROFILE, "customer profile")


def _skills(written: Written) -> Iterator[Fact]:
    return (Fact(Grounding.SKILL, f"skill {pk}", pk) for pk in skills_read(written.tool_calls))
