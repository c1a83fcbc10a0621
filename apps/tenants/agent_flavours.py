"""Whom an agent may be made to serve: an assistant serves members alone, so nothing of customers is led to one (R129)."""

from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import Invalid, NotVisible
from apps.prompt.prompt_input import Flavour
from apps.tenants.models import Agent


def refuse_unknown_agent(agent_id: int, *, actor: Actor) -> None:
    """Refuse an agent that the actor does not see."""
    if _find_agent(agent_id, actor) is None:
        raise NotVisible("There is no such agent.")


def refuse_assistant(agent_id: int, *, actor: Actor, field: str = "agent") -> None:
    """Refuse a customer, a schedule or another agent that would come to an assistant."""
    agent = _find_agent(agent_id, actor)
    if agent is not None and agent.flavour == Flavour.ASSISTANT:
        flaw = f"The agent {agent.key} is an assistant: members talk with it, and nobody else reaches it."
        raise Invalid(flaw, {field: [flaw]})


def refuse_agent_for_customers(agent_id: int, *, actor: Actor) -> None:
    """Refuse a member who would talk with an agent that customers write to, or say how one is to work for them."""
    agent = _find_agent(agent_id, actor)
    if agent is None:
        raise NotVisible("There is no such assistant.")
    if agent.flavour != Flavour.ASSISTANT:
        flaw = f"The agent {agent.key} talks to customers. Choose an assistant, or give a new agent that flavour."
        raise Invalid(flaw, {"agent": [flaw]})


def _find_agent(agent_id: int, actor: Actor) -> Agent | None:
    """None where it cannot be seen."""
    with acting_as(actor):
        return Agent.objects.visible_to(actor).filter(pk=agent_id).first()
