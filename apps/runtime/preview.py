"""What an agent would be told, without opening a session: now, or at a moment of the past."""

from datetime import datetime

from apps.governance.actors import Actor
from apps.prompt.values import PromptInput
from apps.runtime.gather import gather, gather_at
from apps.tenants.identity import agent_actor
from apps.tenants.models import Agent


def told(
    agent: Agent, end_user_key: str, *, system: Actor, moment: datetime | None = None, off_the_record: bool = False
) -> PromptInput:
    """The values of slots 1-5 for this customer; an empty key is nobody."""
    if moment is not None:
        return gather_at(agent, end_user_key, moment, system=system)
    identity = agent_actor(agent.tenant_id, agent.pk, agent.service_user_id, agent.key).serving(end_user_key)
    return gather(agent, end_user_key, actor=identity, system=system, off_the_record=off_the_record)
