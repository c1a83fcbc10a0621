"""What a session starts from: four reads under the agent's own identity (R003, R014). A failing one omits its slot (R044)."""

import logging
from collections.abc import Callable
from typing import TypeVar

from django.db import DatabaseError, transaction

from apps.governance.acting import acting
from apps.governance.actors import Actor
from apps.memory.models import AgentMemory, CustomerProfile
from apps.personas.models import Persona
from apps.prompt import values
from apps.skills.models import Skill
from apps.tenants.models import Agent

logger = logging.getLogger(__name__)

Read = TypeVar("Read")

BARE = values.PromptInput(agent_key=None)


def gather(agent: Agent, end_user_key: str, *, actor: Actor) -> values.PromptInput:
    """The values of slots 1-5. The bare agent is told nothing and nothing is looked up for it (R001)."""
    if not agent.learns:
        return BARE
    with acting(actor):
        return values.PromptInput(
            agent_key=agent.key,
            persona=_slot("persona", lambda: _persona(agent, actor), None),
            contract_override=agent.contract or None,
            skills=_slot("skills", lambda: _skills(agent, actor), ()),
            memory=_slot("memory", lambda: _memory(agent, actor), None),
            profile=_slot("profile", lambda: _profile(end_user_key, actor), None),
            skills_guidance=True,
        )


def _slot(name: str, read: Callable[[], Read], missing: Read) -> Read:
    try:
        with transaction.atomic():
            return read()
    except DatabaseError:
        logger.exception("prompt slot omitted", extra={"slot": name})
        return missing


def _persona(agent: Agent, actor: Actor) -> values.Persona | None:
    row = Persona.objects.visible_to(actor).active().filter(agent_id=agent.pk).first()
    return values.Persona(row.identity, row.style, row.avoid, row.defaults) if row else None


def _skills(agent: Agent, actor: Actor) -> tuple[values.SkillLine, ...]:
    rows = (
        Skill.objects.visible_to(actor)
        .approved()
        .for_agent(agent.pk)
        .values_list("pk", "name", "title", "description", "use__use_count")
    )
    return tuple(values.SkillLine(pk, name, title, said, count or 0) for pk, name, title, said, count in rows)


def _memory(agent: Agent, actor: Actor) -> values.Memory | None:
    row = AgentMemory.objects.visible_to(actor).filter(agent_id=agent.pk).first()
    return values.Memory(row.body, approved=row.is_approved) if row else None


def _profile(end_user_key: str, actor: Actor) -> values.Profile | None:
    if not end_user_key:
        return None
    row = CustomerProfile.objects.visible_to(actor).filter(end_user_key=end_user_key).first()
    return values.Profile(row.preferences, row.notes) if row else None
