"""A member's own talk: with an assistant (R129), or with an agent for customers that they try in the playground.

It is theirs for life, read by nobody else, and no customer is in it.
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
    """Begin a talk of the member who acts. Whose it is, with whom and on which record is settled here for good."""
    refuse_agent_for_customers(agent_id, actor=actor)
    talk = _new_talk(agent_id, ASSISTANT_CHANNEL, actor)
    talk.off_the_record = off_the_record
    return governed_create(Act.CONVERSATION_TALK, talk, actor=actor)


def open_trial(agent_id: int, *, actor: Actor, proposal_id: int | None = None) -> Conversation:
    """Begin to try an agent for customers, as it is or as an open proposal would have it. Nothing that is said is kept."""
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
    """Refuse what the actor does not see open, what is about another agent, and what only one customer would notice."""
    with acting_as(actor):
        rows = Proposal.objects.visible_to(actor).open().select_related("agent")
        proposal = rows.filter(pk=proposal_id).first()
    if proposal is None:
        flaw = f"There is no open proposal {proposal_id}. It may have been decided meanwhile; choose another, or what is live."
    elif proposal.agent_id not in {None, agent_id}:
        flaw = f"Proposal {proposal_id} is about agent {proposal.agent}. Choose that agent, or another proposal."
    elif proposal.kind == Proposal.Kind.PROFILE_CHANGE:
        flaw = f"Proposal {proposal_id} is about one customer, and none is in the playground. Choose another, or what is live."
    else:
        return
    raise Invalid(flaw, {"proposal": [flaw]})


def send_talk_message(talk: Conversation, *, actor: Actor, text: str, idempotency_key: str) -> InboundEvent:
    """Tell an agent something, in one's own talk. The same key again is the same message."""
    authorize(actor, Act.CONVERSATION_TALK, talk.tenant_id, agent_id=talk.agent_id)
    sent: InboundMessageData = {"text": text, "idempotency_key": idempotency_key, "sender_name": "", "line_key": ""}
    refuse_invalid_message(text, "", talk.channel)
    refuse_invalid_keys(sent, {"agent_id": talk.agent_id, "channel": talk.channel, "conversation_key": ""}, "")
    with acting_as(actor):
        # Locked, so that it is not closed between this look and the write.
        rows = Conversation.objects.visible_to(actor).select_for_update(no_key=True, of=("self",))
        mine = rows.trials_of(actor.user_id) if talk.is_trial else rows.talks_of(actor.user_id)
        stored = mine.filter(pk=talk.pk).order_by("pk").first()
        if stored is None:
            raise NotVisible("There is no such talk of yours.")
        event = build_event(sent, actor)
        if talk.is_trial:
            # As a customer would: what they say is data to the agent, and no word of a colleague.
            event.kind, event.sent_by = InboundEvent.Kind.MESSAGE, ""
        return find_event_by_key(event, Conversation.objects.filter(pk=stored.pk), "talk") or _append_to_talk(
            event, stored
        )


def _append_to_talk(event: InboundEvent, talk: Conversation) -> InboundEvent:
    if talk.status != Conversation.Status.OPEN:
        raise IllegalTransition("You closed this talk; nobody writes in it any more. Begin another one.")
    event.conversation = talk
    event.save(force_insert=True)
    return event
