"""How a turn ends: its reply leaves, waits for a person or is only noted; or a person is asked, or takes over."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from apps.conversations.rules import ToolCall
from apps.desk.actions import make_draft, open_escalation
from apps.desk.models import Escalation, SendRule
from apps.desk.rules import Fact, Grounding, grounding_of, mode_of
from apps.governance.acting import acting
from apps.governance.actors import Actor
from apps.governance.errors import Conflicting
from apps.llm.backend import JsonObject
from apps.prompt.derived import Heard, derived
from apps.prompt.lines import lines_of
from apps.prompt.segments import Assembled
from apps.prompt.tool_names import GET_SKILL, HOUSE
from apps.prompt.values import SendMode, Slot
from apps.runtime.claims import Claim
from apps.runtime.journal import REPLIED, Asked, Closed, Ending, close, hold
from apps.runtime.models import Turn
from apps.runtime.steps import Step
from apps.runtime.stops import ANSWERING, SENDING, Stopped, is_answering_paused, is_taken_over
from apps.switches.actions import throw_switch
from apps.switches.models import Switch

DRAFTED: Final = Ending(Turn.Status.DONE, Turn.Outcome.DRAFTED)
OBSERVED: Final = Ending(Turn.Status.DONE, Turn.Outcome.OBSERVED)
TAKEN_OVER: Final = Ending(
    Turn.Status.CANCELLED, Turn.Outcome.SILENT, "taken_over", "A colleague took the conversation in hand."
)

# Why a person is asked where a turn ends without a reply; what is not named here, the agent cannot do.
REASONS: Final = {
    "refusal": Escalation.Reason.POLICY,
    "steps_spent": Escalation.Reason.BUDGET,
    "calls_repeated": Escalation.Reason.BUDGET,
    "empty_reply": Escalation.Reason.MISSING_KNOWLEDGE,
    "attempts_spent": Escalation.Reason.MODEL_UNAVAILABLE,
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

    @property
    def tool_calls(self) -> Iterator[ToolCall]:
        """Every call that gave a result."""
        return (call for step in self.steps for call in step.calls if not call.is_error)


def mode_now(claimed: Claim, fetched: Iterable[int] = (), *, actor: Actor) -> SendMode:
    """What becomes of the reply, by what people have set and the skills read for it (R134)."""
    agent, channel = claimed.agent, claimed.conversation.channel
    with acting(actor):
        rules = SendRule.objects.visible_to(actor).sendings(agent.pk)
    return mode_of(SendMode(agent.send_mode), rules, channel, set(fetched))


def leave(written: Written, *, actor: Actor) -> Closed:
    """End a turn with its answer. Raises `Stopped` where an operator or a colleague holds it."""
    claimed = written.claimed
    mode = mode_now(claimed, (fact.record_id for fact in _skills(written) if fact.record_id), actor=actor)
    if mode is SendMode.AUTONOMOUS:
        try:
            return close(claimed, written.asked, written.steps, REPLIED, written.new_calls, SENDING, actor=actor)
        except Stopped:
            conversation = claimed.conversation
            if is_answering_paused(conversation, actor=actor) or is_taken_over(conversation, actor=actor):
                raise
            # Only sending is paused.
            mode = SendMode.SUGGEST
    return _draft(written, actor) if mode is SendMode.SUGGEST else _note(written, OBSERVED, actor)


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
            text=written.steps[-1].text,
            grounding=grounding_of(facts),
            facts=facts,
        )
    return closed


def _note(written: Written, ending: Ending, actor: Actor) -> Closed:
    """The customer was told nothing, so the transcript ends before the answer; its words stand with the model's call."""
    before = written.steps[:-1]
    return close(written.claimed, written.asked, before, ending, written.new_calls, ANSWERING, actor=actor)


def fail(
    claimed: Claim, asked: Asked | None, new_calls: Sequence[JsonObject], code: str, sentence: str, *, actor: Actor
) -> Closed:
    """End a turn without a reply, and ask a person: silence is no ending. What the customer wrote stays."""
    ending = Ending(Turn.Status.FAILED, Turn.Outcome.ESCALATED, code, sentence)
    with acting(actor):
        hold(claimed.turn)
        closed = close(claimed, asked, (), ending, new_calls, (), actor=actor)
        reason = REASONS.get(code, Escalation.Reason.UNSUPPORTED)
        escalate(claimed, reason, f"The agent gave no answer. {sentence}", actor=actor)
    return closed


def cancel(claimed: Claim, asked: Asked | None, new_calls: Sequence[JsonObject], *, actor: Actor) -> Closed:
    """End a turn because a person answers in its place."""
    return close(claimed, asked, (), TAKEN_OVER, new_calls, (), actor=actor)


def pause_for_money(claimed: Claim, *, actor: Actor) -> None:
    """The account's money is spent: stop asking, and tell an operator, once. What waits is answered when they lift the switch."""
    agent = claimed.agent
    reason = "The model's account has reached its spending limit. Raise it, then lift this."
    with suppress(Conflicting):
        throw_switch(Switch.Kind.PAUSE_AGENT, actor=actor, reason=reason, agent_id=agent.pk)
    escalate(claimed, Escalation.Reason.BUDGET, "The model's account has reached its spending limit.", actor=actor)


def escalate(claimed: Claim, reason: Escalation.Reason, question: str, *, actor: Actor) -> None:
    """Ask a person about this conversation, as the house."""
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
    yield from (Fact(Grounding.TOOL, call.name) for call in written.tool_calls if HOUSE.get(call.name) is None)
    profile = next((part.text for part in written.assembled.parts if part.slot is Slot.PROFILE), "")
    if profile and derived(lines_of(written.steps[-1].text), Heard(customers=(profile,))):
        yield Fact(Grounding.PROFILE, "customer profile")


def _skills(written: Written) -> Iterator[Fact]:
    for call in written.tool_calls:
        if call.name == GET_SKILL:
            skill_id = int(str(call.arguments["skill_id"]).removesuffix(".0"))
            yield Fact(Grounding.SKILL, f"skill {skill_id}", skill_id)
