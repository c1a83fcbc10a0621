"""How acts are tried on what waits for a person: drafts, escalations, send rules."""

from collections.abc import Callable, Mapping
from itertools import count

from apps.conversations.actions import hand_back_conversation, send_message, take_over_conversation
from apps.conversations.admission_control import Proof, prove_conversation
from apps.conversations.models import Conversation, Message
from apps.conversations.off_the_record_erasure import forget_conversation
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
from apps.desk.rules import Fact, Grounding
from apps.governance.database.actor_transaction import acting
from apps.governance.policy.table import Act
from apps.runtime.limits.turn_budgets import Money
from apps.runtime.tools.delegation_tools import ask_agent
from apps.tenants.models import Agent
from tests.random_acts.act_choice import Chosen, Deed, amending, saying

# No turn runs here; their numbers only have to differ.
TURNS = count(5_000_000)


def _make(chosen: Chosen) -> object:
    row = chosen.row(Conversation)
    return make_draft(
        row.pk,
        actor=chosen.actor,
        agent_id=row.agent_id,
        turn_id=next(TURNS),
        text=chosen.words,
        grounding=Grounding.TOOL,
        facts=[Fact(Grounding.TOOL, "find_parcel")],
    )


def _message_of(chosen: Chosen, draft: Draft) -> int:
    """One that stands in the draft's conversation; a draft of an empty one is sent as a message nobody wrote."""
    with acting(chosen.there.world.operator):
        return Message.objects.filter(conversation=draft.conversation_id).values_list("pk", flat=True).first() or 0


def _sending(act: Callable[..., object], *, edited: bool) -> Deed:
    def deed(chosen: Chosen) -> object:
        row = chosen.row(Draft)
        words = {"sent_text": chosen.words} if edited else {}
        return act(
            row,
            actor=chosen.actor,
            message_id=_message_of(chosen, row),
            reviewed_sha256=row.text_sha256,
            read_at=chosen.read_at(row),
            **words,
        )

    return deed


def _discard(chosen: Chosen) -> object:
    row = chosen.row(Draft)
    return discard_draft(row, actor=chosen.actor, reason_code="wrong", reason=chosen.words, read_at=chosen.read_at(row))


def _open(chosen: Chosen) -> object:
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


def _send_rule(chosen: Chosen) -> object:
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


def _prove(chosen: Chosen) -> object:
    return prove_conversation(chosen.row(Conversation), actor=chosen.actor, proof=Proof(1))


def _rate(chosen: Chosen) -> object:
    row = chosen.row(Conversation)
    return rate_conversation(row, actor=chosen.actor, score=chosen.pick % 7, comment=chosen.words)


def _write(chosen: Chosen) -> object:
    row = chosen.row(Conversation)
    return send_message(row, actor=chosen.actor, sender=Message.Sender.OPERATOR, text=chosen.words, wire={})


def _delegate(chosen: Chosen) -> object:
    row, key = chosen.row(Conversation), chosen.row(Agent).key
    return ask_agent(row, actor=chosen.actor, agent_key=key, task=chosen.words, turn_id=1, money=Money())


DESK: Mapping[Act, Deed] = {
    Act.CONVERSATION_TAKE_OVER: amending(Conversation, take_over_conversation),
    Act.CONVERSATION_HAND_BACK: amending(Conversation, hand_back_conversation),
    Act.CONVERSATION_PROVE: _prove,
    Act.CONVERSATION_RATE: _rate,
    Act.CONVERSATION_ERASE: amending(Conversation, forget_conversation),
    Act.CONVERSATION_DELEGATE: _delegate,
    Act.MESSAGE_SEND: _write,
    Act.DRAFT_CREATE: _make,
    Act.DRAFT_SUPERSEDE: amending(Draft, supersede_draft),
    Act.DRAFT_SEND: _sending(send_draft, edited=False),
    Act.DRAFT_SEND_EDITED: _sending(send_edited_draft, edited=True),
    Act.DRAFT_DISCARD: _discard,
    Act.ESCALATION_OPEN: _open,
    Act.ESCALATION_ANSWER: saying(Escalation, answer_escalation, "answer"),
    Act.ESCALATION_DISMISS: saying(Escalation, dismiss_escalation, "dismissal_reason"),
    Act.SEND_RULE_WRITE: _send_rule,
    Act.SEND_RULE_LIFT: amending(SendRule, lift_send_rule),
}
