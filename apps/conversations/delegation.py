"""Delegated conversations: an agent asks another agent in a child conversation of its own (R054).

The child has the customer, proof and record setting of its parent. The depth of delegation is limited.
"""

from collections.abc import Iterator
from typing import Final

from django.db.models import Q

from apps.conversations.admission_control import CustomerProof, prove_conversation
from apps.conversations.models import Conversation, InboundEvent
from apps.conversations.rules import DELEGATION_CHANNEL, EVENT_CHARACTERS, SENDER_NAME_CHARACTERS
from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.governed_write import governed_create
from apps.governance.policy.policy_table import Act
from apps.governance.stored_text import content_sha256
from apps.tenants.authentication.actor_resolution import system_actor
from apps.tenants.models import Agent

ENDED_UNANSWERED: Final = (
    "The question was closed without an answer. Do without it, or hand this to a colleague; tell the customer."
)


def open_delegated_conversation(
    parent: Conversation, callee_id: int, *, actor: Actor, turn_id: int, budget_micro_usd: int | None, is_proven: bool
) -> Conversation:
    """Open the conversation in which another agent is asked; `budget_micro_usd` limits its total cost.

    Its customer is verified if the parent's is and `is_proven`: all messages that the asking turn answers came after the proof.
    """
    with acting_as(actor):
        asked_before = Conversation.objects.visible_to(actor).filter(parent=parent, delegating_turn_id=turn_id).count()
        child = Conversation(
            tenant_id=parent.tenant_id,
            agent_id=callee_id,
            channel=DELEGATION_CHANNEL,
            conversation_key=f"turn-{turn_id}-{asked_before + 1}",
            end_user_key=parent.end_user_key,
            off_the_record=parent.off_the_record,
            parent=parent,
            hops=parent.hops + 1,
            delegating_turn_id=turn_id,
            budget_micro_usd=budget_micro_usd,
            taint=parent.taint,
        )
        evidence = {"conversation_id": parent.pk, "turn_id": turn_id}
        governed_create(Act.CONVERSATION_OPEN, child, actor=actor, evidence=evidence)
        if is_proven and parent.proven_key_id is not None:
            prove_conversation(child, actor=actor, proof=CustomerProof(parent.proven_key_id))
    return child


TAKEN_OVER: Final = "A colleague has taken the question in hand and answers it in that agent's place."


def notify_parent_ended(child: Conversation) -> None:
    """Tell the asking agent that no answer will come."""
    _notify_parent(child, InboundEvent.Kind.ANSWER, ENDED_UNANSWERED, "ended")


def notify_parent_taken_over(child: Conversation) -> None:
    """Tell the asking agent that a person answers instead of the other agent."""
    _notify_parent(child, InboundEvent.Kind.PROGRESS, TAKEN_OVER, f"taken-over-{child.version}")


AGENT_PAUSED: Final = (
    "An operator has paused that agent, so its answer comes late, if at all. Do not wait for it: tell the customer so, or hand"
    " this to a colleague."
)


def notify_parent_paused(child: Conversation, switch_id: int) -> int | None:
    """Tell the asking agent that the other agent is paused. Returns the conversation to wake, or None if it was told before."""
    return _notify_parent(child, InboundEvent.Kind.PROGRESS, AGENT_PAUSED, f"paused-{switch_id}")


def _notify_parent(child: Conversation, kind: InboundEvent.Kind, text: str, key: str) -> int | None:
    """Add an event to the parent conversation, unless the answer came, the parent has ended, or the event exists already.

    The event is written in the caller's transaction, and a worker finds it like any other event.
    """
    if not child.is_asked:
        return None
    system = system_actor(child.tenant_id, "worker")
    with acting_as(system):
        above = Conversation.objects.visible_to(system).open().filter(children=child)
        parent = above.select_for_update(no_key=True, of=("self",)).order_by("pk").first()
        if parent is None:
            return None
        events = InboundEvent.objects.filter(conversation=parent, idempotency_key__startswith=_key_prefix(child))
        if events.filter(Q(kind=InboundEvent.Kind.ANSWER) | Q(idempotency_key=f"{_key_prefix(child)}{key}")).exists():
            return None
        add_parent_event(parent, child, kind, text, key)
        return parent.pk


def add_parent_event(parent: Conversation, child: Conversation, kind: InboundEvent.Kind, text: str, key: str) -> None:
    """Write the event for the asking agent. The caller has the parent conversation locked."""
    add_agent_event(parent, kind, text, f"{_key_prefix(child)}{key}", by=child.agent)


def add_agent_event(conversation: Conversation, kind: InboundEvent.Kind, text: str, key: str, *, by: Agent) -> None:
    """Write a message from one agent to another. The caller acts as the system and uses each key once."""
    event_text = text[:EVENT_CHARACTERS]
    InboundEvent.objects.create(
        tenant_id=conversation.tenant_id,
        conversation=conversation,
        kind=kind,
        idempotency_key=key,
        sender_name=by.title[:SENDER_NAME_CHARACTERS],
        sent_by=f"agent:{by.key}",
        text=event_text,
        text_sha256=content_sha256(event_text),
    )


def _key_prefix(child: Conversation) -> str:
    """Return the prefix of the keys of events from this conversation."""
    return f"delegated-{child.pk}-"


def agent_and_ancestors(conversation: Conversation) -> Iterator[int]:
    """Yield the agent of a conversation and of each conversation above it, as visible to the actor."""
    above: Conversation | None = conversation
    while above is not None:
        yield above.agent_id
        above = above.parent
