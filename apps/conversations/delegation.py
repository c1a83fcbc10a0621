"""A conversation that one agent opens with another, below the one in which it asks (R054).

It concerns the same customer as the one above, on the same record and with the same proof, and goes so deep and no deeper.
"""

from collections.abc import Iterator
from typing import Final

from django.db.models import Q

from apps.conversations.admission_control import Proof, prove_conversation
from apps.conversations.models import Conversation, InboundEvent
from apps.conversations.rules import BETWEEN_AGENTS, EVENT_CHARACTERS, SENDER_NAME_CHARACTERS
from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting
from apps.governance.governed_write import governed
from apps.governance.policy.table import Act
from apps.governance.stored_text import content_sha256
from apps.tenants.authentication.actor_resolution import system_actor
from apps.tenants.models import Agent

ENDED_UNANSWERED: Final = (
    "The question was closed without an answer. Do without it, or hand this to a colleague; tell the customer."
)


def open_below(
    parent: Conversation, callee_id: int, *, actor: Actor, turn_id: int, budget_micro_usd: int | None, is_proven: bool
) -> Conversation:
    """Open the conversation in which another agent is asked; `budget_micro_usd` is what it may cost in all.

    It is proven where the one above is, and the turn that asks answers nobody unproven (`is_proven`).
    """
    with acting(actor):
        asked_before = Conversation.objects.visible_to(actor).filter(parent=parent, delegating_turn_id=turn_id).count()
        child = Conversation(
            tenant_id=parent.tenant_id,
            agent_id=callee_id,
            channel=BETWEEN_AGENTS,
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
        with governed(Act.CONVERSATION_OPEN, child, actor=actor, evidence=evidence):
            pass
        if is_proven and parent.proven_key_id is not None:
            prove_conversation(child, actor=actor, proof=Proof(parent.proven_key_id))
    return child


IN_HAND: Final = "A colleague has taken the question in hand and answers it in that agent's place."


def tell_ended(child: Conversation) -> None:
    """Tell the agent that asked here that nothing more comes."""
    _tell_who_waits(child, InboundEvent.Kind.ANSWER, ENDED_UNANSWERED, "ended")


def tell_in_hand(child: Conversation) -> None:
    """Tell the agent that asked here that a person answers, whether the other one was at it or waited for its turn."""
    _tell_who_waits(child, InboundEvent.Kind.PROGRESS, IN_HAND, f"taken-over-{child.version}")


PAUSED: Final = (
    "An operator has paused that agent, so its answer comes late, if at all. Do not wait for it: tell the customer so, or hand"
    " this to a colleague."
)


def tell_paused(child: Conversation, switch_id: int) -> int | None:
    """Tell the agent that asked here that nobody answers while a switch is on; the conversation to wake, if it was not told yet."""
    return _tell_who_waits(child, InboundEvent.Kind.PROGRESS, PAUSED, f"paused-{switch_id}")


def _tell_who_waits(child: Conversation, kind: InboundEvent.Kind, text: str, key: str) -> int | None:
    """Nobody waits once there was an answer, or where the conversation above has ended; nobody is told the same twice.

    A worker finds the event as it finds every other; in the transaction of whoever does what is told.
    """
    if not child.is_asked:
        return None
    system = system_actor(child.tenant_id, "worker")
    with acting(system):
        above = Conversation.objects.visible_to(system).open().filter(children=child)
        parent = above.select_for_update(no_key=True, of=("self",)).order_by("pk").first()
        if parent is None:
            return None
        told = InboundEvent.objects.filter(conversation=parent, idempotency_key__startswith=_below(child))
        if told.filter(Q(kind=InboundEvent.Kind.ANSWER) | Q(idempotency_key=f"{_below(child)}{key}")).exists():
            return None
        put_above(parent, child, kind, text, key)
        return parent.pk


def put_above(parent: Conversation, child: Conversation, kind: InboundEvent.Kind, text: str, key: str) -> None:
    """Write what the agent that asked is told of its question; whoever calls has the conversation above locked."""
    put(parent, kind, text, f"{_below(child)}{key}", by=child.agent)


def put(conversation: Conversation, kind: InboundEvent.Kind, text: str, key: str, *, by: Agent) -> None:
    """Write what one agent tells another; called as the system, once for a key."""
    said = text[:EVENT_CHARACTERS]
    InboundEvent.objects.create(
        tenant_id=conversation.tenant_id,
        conversation=conversation,
        kind=kind,
        idempotency_key=key,
        sender_name=by.title[:SENDER_NAME_CHARACTERS],
        sent_by=f"agent:{by.key}",
        text=said,
        text_sha256=content_sha256(said),
    )


def _below(child: Conversation) -> str:
    """How the keys begin of what comes from there."""
    return f"delegated-{child.pk}-"


def agents_above(conversation: Conversation) -> Iterator[int]:
    """The agent of a conversation, and of each one above it; looked up as whoever acts."""
    above: Conversation | None = conversation
    while above is not None:
        yield above.agent_id
        above = above.parent
