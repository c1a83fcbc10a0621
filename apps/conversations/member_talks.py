"""Talks of members: with an assistant (R129), or a trial of a customer-facing agent in the playground.

A talk stays private to its member, and no customer takes part in it.
"""

from uuid import uuid4

from apps.conversations.inbound_messages import (
    InboundMessageData,
    build_event,
    find_event_by_key,
    refuse_invalid_keys,
    refuse_invalid_message,
)
from apps.conversations.models import Conversation, InboundEvent
from apps.conversations.rules import ASSISTANT_CHANNEL, PLAYGROUND_CHANNEL
from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import IllegalTransition, Invalid, NotVisible
from apps.governance.governed_write import authorize, governed_create
from apps.governance.models import Proposal, Taint
from apps.governance.policy.policy_table import Act
from apps.tenants.agent_flavours import refuse_agent_for_customers, refuse_assistant, refuse_unknown_agent


def open_talk(agent_id: int, *, actor: Actor, off_the_record: bool = False) -> Conversation:
    """Open a talk of the acting member. Its member, agent and record setting cannot change afterwards."""
    refuse_agent_for_customers(agent_id, actor=actor)
    talk = _new_talk(agent_id, ASSISTANT_CHANNEL, actor)
    talk.off_the_record = off_the_record
    return governed_create(Act.CONVERSATION_TALK, talk, actor=actor)


def open_trial(agent_id: int, *, actor: Actor, proposal_id: int | None = None) -> Conversation:
    """Open a trial of a customer-facing agent, as it is or with an open proposal applied. The trial is off the record."""
    refuse_unknown_agent(agent_id, actor=actor)
    refuse_assistant(agent_id, actor=actor)
    if proposal_id is not None:
        _refuse_untriable_proposal(proposal_id, agent_id, actor)
    trial = _new_talk(agent_id, PLAYGROUND_CHANNEL, actor)
    trial.off_the_record, trial.trial_proposal_id = True, proposal_id
    return governed_create(Act.CONVERSATION_TALK, trial, actor=actor)


def _new_talk(agent_id: int, channel: str, actor: Actor) -> Conversation:
    return Conversation(
        tenant_id=actor.tenant_id,
        agent_id=agent_id,
        channel=channel,
        conversation_key=f"{actor.user_id}-{uuid4().hex}",
        member_user_id=actor.user_id,
        taint=Taint.OPERATOR,
    )


def _refuse_untriable_proposal(proposal_id: int, agent_id: int, actor: Actor) -> None:
    """Refuse a proposal that is not open or not visible to the actor, concerns another agent, or affects only one customer."""
    with acting_as(actor):
        rows = Proposal.objects.visible_to(actor).open().select_related("agent")
        proposal = rows.filter(pk=proposal_id).first()
    if proposal is None:
        flaw = f"There is no open proposal {proposal_id}. It may have been decided meanwhile. Choose another, or the live agent."
    elif proposal.agent_id not in {None, agent_id}:
        flaw = f"Proposal {proposal_id} is about agent {proposal.agent}. Choose that agent, or another proposal."
    elif proposal.kind == Proposal.Kind.PROFILE_CHANGE:
        flaw = f"Proposal {proposal_id} is about one customer, and the playground has none. Choose another, or the live agent."
    else:
        return
    raise Invalid(flaw, {"proposal": [flaw]})


def send_talk_message(talk: Conversation, *, actor: Actor, text: str, idempotency_key: str) -> InboundEvent:
    """Send a message in the actor's own talk. A repeated key returns the first message."""
    authorize(actor, Act.CONVERSATION_TALK, talk.tenant_id, agent_id=talk.agent_id)
    sent: InboundMessageData = {"text": text, "idempotency_key": idempotency_key, "sender_name": "", "line_key": ""}
    refuse_invalid_message(text, "", talk.channel)
    refuse_invalid_keys(sent, {"agent_id": talk.agent_id, "channel": talk.channel, "conversation_key": ""}, "")
    with acting_as(actor):
        # Locked, so that it is not closed between this check and the write.
        rows = Conversation.objects.visible_to(actor).select_for_update(no_key=True, of=("self",))
        mine = rows.trials_of(actor.user_id) if talk.is_trial else rows.talks_of(actor.user_id)
        stored = mine.filter(pk=talk.pk).order_by("pk").first()
        if stored is None:
            raise NotVisible("You have no such talk.")
        event = build_event(sent, actor)
        if talk.is_trial:
            # In a trial the message counts as a customer's, which is data to the agent, and not as a colleague's instruction.
            event.kind, event.sent_by = InboundEvent.Kind.MESSAGE, ""
        return find_event_by_key(event, Conversation.objects.filter(pk=stored.pk), "talk") or _append_to_talk(
            event, stored
        )


def _append_to_talk(event: InboundEvent, talk: Conversation) -> InboundEvent:
    if talk.status != Conversation.Status.OPEN:
        raise IllegalTransition("You closed this talk, so it takes no more messages. Begin another one.")
    event.conversation = talk
    event.save(force_insert=True)
    return event
