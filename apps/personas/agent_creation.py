"""Creation of an agent together with its persona."""

from collections.abc import Mapping

from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.personas.actions import create_persona
from apps.tenants.actions import create_agent
from apps.tenants.models import Agent


def create_agent_with_persona(key: str, title: str, sections: Mapping[str, str], *, actor: Actor) -> Agent:
    """Create an agent and its persona in one commit, so that no agent lacks a persona."""
    with acting_as(actor):
        agent = create_agent(key, title, actor=actor)
        create_persona(agent.pk, actor=actor, values=sections)
    return agent
