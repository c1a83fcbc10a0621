"""Previews an agent's prompt, as of now or a past moment, without opening a session."""

from datetime import datetime

from django.utils import timezone

from apps.governance.actors import Actor
from apps.governance.errors import Invalid
from apps.prompt.prompt_input import PromptInput
from apps.runtime.prompt_snapshot.prompt_input_builder import read_prompt_input, read_prompt_input_at
from apps.tenants.authentication.actor_resolution import agent_actor
from apps.tenants.models import Agent


def preview_prompt_input(
    agent: Agent, end_user_key: str, *, system: Actor, moment: datetime | None = None, off_the_record: bool = False
) -> PromptInput:
    """The prompt input of slots 1-5 for this customer; an empty key means no customer."""
    if moment is not None:
        return read_prompt_input_at(agent, end_user_key, moment, system=system)
    identity = agent_actor(agent.tenant_id, agent.pk, agent.service_user_id, agent.key).serving(end_user_key)
    return read_prompt_input(
        agent, end_user_key, actor=identity, system=system, now=timezone.now(), off_the_record=off_the_record
    )


def preview_at(agent: Agent, end_user_key: str, moment: datetime | None, *, actor: Actor) -> PromptInput:
    """The prompt input of slots 1-5 at a past moment, or now if `moment` is None, for a person."""
    if moment is None:
        return read_prompt_input(agent, end_user_key, actor=actor, system=actor, now=timezone.now())
    if moment < agent.created_at:
        sentence = f"There was no agent {agent.key} then; it was made at {agent.created_at.isoformat()}."
        raise Invalid(sentence, {"as_of": [sentence]})
    return read_prompt_input_at(agent, end_user_key, moment, system=actor)
