"""How acts are tried on what waits for a person: drafts, escalations, send rules."""

from collections.abc import Callable, Mapping
from itertools import count

from apps.conversations.actions import hand_back_conversation, send_message, take_over_conversation
from apps.conversations.admission_control import CustomerProof, prove_conversation
from apps.conversations.models import Conversation, Message
from apps.conversations.off_the_record_erasure import erase_conversation_text
from apps.conversations.quarantine import quarantine_conversation, release_conversation
from apps.conversations.ratings import rate_conversation
from apps.desk.actions import (
    answer_escalation,
    discard_draft,
    dismiss_escalation,
    lift_send_rule,
    make_draft,
    open_escalation,
    send_draft,
    send_edited_draft,
    supersede_draft,
    write_send_rule,
)
from apps.desk.models import Draft, Escalation, SendRule
from apps.desk.rules import Grounding, GroundingFact
from apps.governance.database.actor_transaction import acting_as
from apps.governance.policy.policy_table import Act
from apps.runtime.limits.turn_budgets import TurnMoney
from apps.runtime.tools.delegation_tools import ask_agent
from apps.runtime.turns.run_now import run_turn_now
from apps.tenants.models import Agent
from tests.random_acts.act_choice import ActChoice, ActRunner, amend_row, write_parameter

# No turn runs here; their numbers only have to differ.
TURNS = count(5_000_000)


def _make_draft(chosen: ActChoice) -> object:
    row = chosen.row(Conversation)
    return make_draft(
        row.pk,
        actor=chosen.actor,
        agent_id=row.agent_id,
        turn_id=next(TURNS),
        text=chosen.words,
        grounding=Grounding.TOOL,
        facts=[GroundingFact(Grounding.TOOL, "find_parcel")],
    )


def _draft_message_id(chosen: ActChoice, draft: Draft) -> int:
    """One that stands in the draft's conversation; a draft of an empty one is sent as a message nobody wrote."""
    with acting_as(chosen.there.world.operator):
        return Message.objects.filter(conversation=draft.conversation_id).values_list("pk", flat=True).first() or 0


def _send_draft(act: Callable[..., object], *, edited: bool) -> ActRunner:
    def deed(chosen: ActChoice) -> object:
        row = chosen.row(Draft)
        words = {"sent_text": chosen.words} if edited else {}
        return act(
            row,
            actor=chosen.actor,
            message_id=_draft_message_id(chosen, row),
            reviewed_sha256=row.text_sha256,
            read_at=chosen.read_at(row),
            **words,
        )

    return deed


def _discard(chosen: ActChoice) -> object:
    row = chosen.row(Draft)
    return discard_draft(row, actor=chosen.actor, reason_code="wrong", reason=chosen.words, read_at=chosen.read_at(row))


def _open_escalation(chosen: ActChoice) -> object:
    row = chosen.row(Conversation)
    reasons = list(Escalation.Reason)
    return open_escalation(
        row.pk,
        actor=chosen.actor,
        agent_id=row.agent_id,
        turn_id=None,
        reason=reasons[chosen.pick % len(reasons)],
        question=chosen.words,
    )


def _send_rule(chosen: ActChoice) -> object:
    modes = ("autonomous", "suggest", "observe")
    known = chosen.there.rows(SendRule)
    if known and chosen.pick % 2:
        row = chosen.row(SendRule)
        values = {"send_mode": modes[chosen.pick % 3]}
        return write_send_rule(row, actor=chosen.actor, values=values, read_at=chosen.read_at(row))
    row = SendRule(tenant_id=chosen.actor.tenant_id, agent=chosen.agent)
    return write_send_rule(
        row, actor=chosen.actor, values={"channel": chosen.name, "send_mode": modes[chosen.pick % 3]}
    )


def _prove_conversation(chosen: ActChoice) -> object:
    return prove_conversation(chosen.row(Conversation), actor=chosen.actor, proof=CustomerProof(1))


def _rate_conversation(chosen: ActChoice) -> object:
    row = chosen.row(Conversation)
    return rate_conversation(row, actor=chosen.actor, score=chosen.pick % 7, comment=chosen.words)


def _write(chosen: ActChoice) -> object:
    row = chosen.row(Conversation)
    return send_message(row, actor=chosen.actor, sender=Message.Sender.OPERATOR, text=chosen.words, wire={})


def _delegate(chosen: ActChoice) -> object:
    row, key = chosen.row(Conversation), chosen.row(Agent).key
    return ask_agent(row, actor=chosen.actor, agent_key=key, task=chosen.words, turn_id=1, money=TurnMoney())


def _with_reason(act: Callable[..., object]) -> ActRunner:
    def deed(chosen: ActChoice) -> object:
        row = chosen.row(Conversation)
        return act(row, actor=chosen.actor, reason=chosen.words, read_at=chosen.read_at(row))

    return deed


DESK: Mapping[Act, ActRunner] = {
    Act.CONVERSATION_TAKE_OVER: amend_row(Conversation, take_over_conversation),
    Act.CONVERSATION_HAND_BACK: amend_row(Conversation, hand_back_conversation),
    Act.CONVERSATION_PROVE: _prove_conversation,
    Act.CONVERSATION_RATE: _rate_conversation,
    Act.CONVERSATION_ERASE: amend_row(Conversation, erase_conversation_text),
    Act.CONVERSATION_QUARANTINE: _with_reason(quarantine_conversation),
    Act.CONVERSATION_RELEASE: _with_reason(release_conversation),
    Act.CONVERSATION_DELEGATE: _delegate,
    Act.MESSAGE_SEND: _write,
    Act.TURN_RUN: lambda chosen: run_turn_now(chosen.row(Conversation), actor=chosen.actor),
    Act.DRAFT_CREATE: _make_draft,
    Act.DRAFT_SUPERSEDE: amend_row(Draft, supersede_draft),
    Act.DRAFT_SEND: _send_draft(send_draft, edited=False),
    Act.DRAFT_SEND_EDITED: _send_draft(send_edited_draft, edited=True),
    Act.DRAFT_DISCARD: _discard,
    Act.ESCALATION_OPEN: _open_escalation,
    Act.ESCALATION_ANSWER: write_parameter(Escalation, answer_escalation, "answer"),
    Act.ESCALATION_DISMISS: write_parameter(Escalation, dismiss_escalation, "reason"),
    Act.SEND_RULE_WRITE: _send_rule,
    Act.SEND_RULE_LIFT: amend_row(SendRule, lift_send_rule),
}
