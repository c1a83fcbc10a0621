"""Lawful data of the desk: drafts, escalations and send rules, made by the product's own acts."""

from collections.abc import Sequence
from datetime import timedelta
from itertools import count

from django.db.models.functions import Now

from apps.conversations.actions import take_over_conversation
from apps.conversations.models import Conversation, InboundEvent
from apps.desk.actions import make_draft, open_escalation, write_send_rule
from apps.desk.models import Draft, Escalation, SendRule
from apps.desk.rules import Grounding, GroundingFact
from apps.governance.database.actor_transaction import acting_as
from apps.runtime.models import Turn
from apps.skills.models import Skill
from tests.support.worlds.world import World, make_conversation, make_event

# No turn ran; the numbers only have to differ from each other and from those of real turns.
_turns = count(1_000_001)


def make_waiting_draft(
    world: World,
    conversation: Conversation | None = None,
    text: str = "It is on its way.",
    read: Sequence[Skill] = (),
) -> Draft:
    """Make a reply that waits for a person, in a conversation of its own unless one is named."""
    conversation = conversation or make_conversation(world)
    return make_draft(
        conversation.pk,
        actor=world.system,
        agent_id=conversation.agent_id,
        turn_id=next(_turns),
        text=text,
        grounding=Grounding.SKILL if read else Grounding.TOOL,
        facts=[
            *(GroundingFact(Grounding.SKILL, skill.name, skill.pk) for skill in read),
            GroundingFact(Grounding.TOOL, "find_parcel"),
        ],
    )


def make_taken_over_conversation(world: World) -> Conversation:
    """Make a conversation that the operator has taken over."""
    return take_over_conversation(make_conversation(world), actor=world.operator)


def make_delayed_conversation(world: World) -> Conversation:
    """Make a conversation whose turn waits for its next attempt."""
    conversation = make_event(world).conversation
    with acting_as(world.system):
        turn = Turn.objects.create(
            tenant_id=conversation.tenant_id,
            conversation=conversation,
            lease_until=Now(),
            run_at=Now() + timedelta(minutes=15),
            is_released=True,
            failure_code="overloaded",
            failure="The model is overloaded.",
        )
        InboundEvent.objects.filter(conversation=conversation).update(turn_id=turn.pk)
    return conversation


def make_escalation(
    world: World,
    conversation: Conversation | None = None,
    reason: Escalation.Reason = Escalation.Reason.MISSING_KNOWLEDGE,
) -> Escalation:
    """Make a question that waits for a person, escalated by the agent."""
    conversation = conversation or make_conversation(world)
    return open_escalation(
        conversation.pk,
        actor=world.bot,
        agent_id=conversation.agent_id,
        turn_id=None,
        reason=reason,
        question="May a broken parcel be sent back?",
    )


def make_send_rule(
    world: World, channel: str = "sms", send_mode: str = "suggest", skill: Skill | None = None
) -> SendRule:
    """Make a rule for the agent's replies on a channel."""
    rule = SendRule(tenant_id=world.tenant.pk, agent=world.agent)
    values = {"channel": channel, "send_mode": send_mode, "skill": skill}
    return write_send_rule(rule, actor=world.operator, values=values)
