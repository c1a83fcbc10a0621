"""Checks of an agent's flavour: assistants serve members only, not customers, schedules or other agents (R129)."""

from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import Invalid, NotVisible
from apps.prompt.prompt_input import Flavour
from apps.tenants.models import Agent


def refuse_unknown_agent(agent_id: int, *, actor: Actor) -> None:
    """Raise `NotVisible` for an agent that the actor may not see."""
    if _find_agent(agent_id, actor) is None:
        raise NotVisible("There is no such agent.")


def refuse_assistant(agent_id: int, *, actor: Actor, field: str = "agent") -> None:
    """Refuse an assistant where an agent is to serve customers, schedules or other agents."""
    agent = _find_agent(agent_id, actor)
    if agent is not None and agent.flavour == Flavour.ASSISTANT:
        flaw = f"The agent {agent.key} is an assistant, which only members can talk with. Choose another agent."
        raise Invalid(flaw, {field: [flaw]})


def refuse_agent_for_customers(agent_id: int, *, actor: Actor) -> None:
    """Refuse an agent that serves customers where an assistant is needed: for a member's talk or overlay."""
    agent = _find_agent(agent_id, actor)
    if agent is None:
        raise NotVisible("There is no such assistant.")
    if agent.flavour != Flavour.ASSISTANT:
        flaw = f"The agent {agent.key} talks to customers. Choose an assistant, or give a new agent that flavour."
        raise Invalid(flaw, {"agent": [flaw]})


def _find_agent(agent_id: int, actor: Actor) -> Agent | None:
    """Return the agent, or None if the actor may not see it."""
    with acting_as(actor):
        return Agent.objects.visible_to(actor).filter(pk=agent_id).first()
