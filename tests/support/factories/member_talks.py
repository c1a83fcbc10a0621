"""Lawful data of members and their assistants, made by the product's own acts."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import count
from typing import Any

from apps.conversations.member_talks import open_talk, open_trial, send_talk_message
from apps.conversations.models import Conversation, InboundEvent
from apps.governance.actors import Actor
from apps.governance.policy.policy_table import Act
from apps.personas.actions import create_member_overlay
from apps.personas.models import MemberOverlay
from apps.tenants.actions import amend_agent, create_agent
from apps.tenants.authentication.actor_resolution import agent_actor
from tests.support.worlds.world import World

_numbers = count(1)


def turn_into_assistant(world: World) -> World:
    """Make the world's agent an assistant, before anybody has talked with it."""
    amend_agent(world.agent, actor=world.admin, flavour="assistant")
    return world


def make_assistant(world: World) -> World:
    """Return the same tenant with an assistant as its agent."""
    agent = create_agent(f"aide-{next(_numbers)}", "Aide", actor=world.admin)
    bot = agent_actor(world.tenant.pk, agent.pk, agent.service_user_id, agent.key)
    return turn_into_assistant(replace(world, agent=agent, bot=bot))


def make_talk(world: World, actor: Actor | None = None, *, off_the_record: bool = False) -> Conversation:
    """Make a member's talk with the world's agent, which is an assistant."""
    return open_talk(world.agent.pk, actor=actor or world.operator, off_the_record=off_the_record)


def make_trial(world: World, actor: Actor | None = None, proposal_id: int | None = None) -> Conversation:
    """Make a trial of the world's agent in the playground; customers write to the agent too."""
    return open_trial(world.agent.pk, actor=actor or world.operator, proposal_id=proposal_id)


def message_assistant(talk: Conversation, text: str, actor: Actor) -> InboundEvent:
    """Send a member's message, which waits for a turn."""
    return send_talk_message(talk, actor=actor, text=text, idempotency_key=f"said-{next(_numbers)}")


def make_member_overlay(world: World, text: str = "Answer me in lists.", actor: Actor | None = None) -> MemberOverlay:
    """Make a member's instructions for the assistant."""
    return create_member_overlay(world.agent.pk, actor=actor or world.operator, text=text)


def actor_for_member(scene: Any, actor: Actor) -> Actor:
    """Return an agent's actor for the member whose talk it answers."""
    return actor if actor.is_person else actor.for_member(scene.world.operator_user.pk)


TALK_SUBJECTS: Mapping[Act, Callable[[World], Any]] = {
    Act.CONVERSATION_TALK: lambda world: turn_into_assistant(world).agent,
    Act.MEMBER_OVERLAY_WRITE: lambda world: turn_into_assistant(world).agent,
}
# Each takes the scene, the row and, for actions, the actor.
TALK_ACTS: Mapping[Act, Callable[[Any, Any, Actor], object]] = {
    Act.CONVERSATION_TALK: lambda _, agent, actor: open_talk(agent.pk, actor=actor),
    Act.MEMBER_OVERLAY_WRITE: lambda scene, agent, actor: create_member_overlay(
        agent.pk, actor=actor_for_member(scene, actor), text="Be brief."
    ),
}
