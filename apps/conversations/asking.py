"""A conversation that one agent opens with another, below the one in which it asks (R054).

It concerns the same customer as the one above, on the same record and with the same proof, and goes so deep and no deeper.
"""

from collections.abc import Iterator

from apps.conversations.admission import Proof, prove_conversation
from apps.conversations.models import Conversation
from apps.conversations.rules import BETWEEN_AGENTS
from apps.governance.acting import acting
from apps.governance.actors import Actor
from apps.governance.door import governed
from apps.governance.policy import Act


def open_below(
    parent: Conversation, callee_id: int, *, actor: Actor, turn_id: int, budget_micro_usd: int | None
) -> Conversation:
    """Open the conversation in which another agent is asked; `budget_micro_usd` is what it may cost in all."""
    with acting(actor):
        asked_before = Conversation.objects.visible_to(actor).filter(parent=parent, asked_in_id=turn_id).count()
        child = Conversation(
            tenant_id=parent.tenant_id,
            agent_id=callee_id,
            channel=BETWEEN_AGENTS,
            conversation_key=f"turn-{turn_id}-{asked_before + 1}",
            end_user_key=parent.end_user_key,
            off_the_record=parent.off_the_record,
            parent=parent,
            hops=parent.hops + 1,
            asked_in_id=turn_id,
            budget_micro_usd=budget_micro_usd,
            taint=parent.taint,
        )
        evidence = {"conversation_id": parent.pk, "turn_id": turn_id}
        with governed(Act.CONVERSATION_OPEN, child, actor=actor, evidence=evidence):
            pass
        if parent.proven_key_id is not None:
            prove_conversation(child, actor=actor, proof=Proof(parent.proven_key_id))
    return child


def agents_above(conversation: Conversation) -> Iterator[int]:
    """The agent of a conversation, and of each one above it; looked up as whoever acts."""
    above: Conversation | None = conversation
    while above is not None:
        yield above.agent_id
        above = above.parent
