"""The rows slots 1-5 are made from: as they stand, under the agent's own identity (R003, R014), or as they stood (R062)."""

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from django.db import DatabaseError, transaction

from apps.governance.acting import acting
from apps.governance.actors import Actor
from apps.governance.history import rows_at
from apps.governance.models import Governed
from apps.memory.models import AgentMemory, CustomerProfile, MemoryBlock
from apps.personas.models import IdentityCard, Persona, PersonaOverlay, StandingRule
from apps.skills.models import Skill, SkillUse
from apps.tenants.models import Agent, InvokableAgent, TenantSettings

logger = logging.getLogger(__name__)

Read = TypeVar("Read")


@dataclass(frozen=True, slots=True)
class Rows:
    """What a prompt is made from. Empty is what is not there or could not be read (R044)."""

    agent: Agent
    settings: tuple[TenantSettings, ...] = ()
    personas: tuple[Persona, ...] = ()
    overlays: tuple[PersonaOverlay, ...] = ()
    cards: tuple[IdentityCard, ...] = ()
    rules: tuple[StandingRule, ...] = ()
    skills: tuple[Skill, ...] = ()
    invokable: tuple[InvokableAgent, ...] = ()
    callees: tuple[Agent, ...] = ()
    memories: tuple[AgentMemory, ...] = ()
    blocks: tuple[MemoryBlock, ...] = ()
    profiles: tuple[CustomerProfile, ...] = ()
    use_counts: tuple[tuple[int, int], ...] = ()

    def written_by_people(self) -> Iterator[Governed]:
        """The rows whose authors stand in the change records only; the others name theirs."""
        yield self.agent
        yield from (*self.personas, *self.overlays, *self.cards, *self.rules, *self.invokable)


def rows_now(agent: Agent, end_user_key: str, *, actor: Actor, system: Actor) -> Rows:
    """What a session that opens now starts from. A failing read leaves its slot out."""
    with acting(system):
        settings = tuple(TenantSettings.objects.visible_to(system))
        invokable = tuple(InvokableAgent.objects.visible_to(system).filter(agent_id=agent.pk).select_related("callee"))
    with acting(actor):
        skills = _slot("skills", lambda: tuple(Skill.objects.visible_to(actor).approved().for_agent(agent.pk)))
        return Rows(
            agent,
            settings,
            _slot("persona", lambda: tuple(Persona.objects.visible_to(actor).active().filter(agent_id=agent.pk))),
            _slot("persona", lambda: tuple(PersonaOverlay.objects.visible_to(actor).filter(agent_id=agent.pk))),
            _slot(
                "persona", lambda: tuple(IdentityCard.objects.visible_to(actor).filter(agent_id=agent.pk, line_key=""))
            ),
            _slot("contract", lambda: tuple(StandingRule.objects.visible_to(actor).active().for_agent(agent.pk))),
            skills,
            invokable,
            tuple(row.callee for row in invokable),
            _slot("memory", lambda: tuple(AgentMemory.objects.visible_to(actor).filter(agent_id=agent.pk))),
            _slot(
                "memory", lambda: tuple(MemoryBlock.objects.visible_to(actor).filter(agent_id=agent.pk, pinned=True))
            ),
            _slot("profile", lambda: _profiles(end_user_key, actor)),
            _slot("skills", lambda: _use_counts(skills)),
        )


def rows_then(agent: Agent, end_user_key: str, moment: datetime, *, system: Actor) -> Rows:
    """What a session that opened at a moment started from. Skills are chosen by their use of today: counts have no history."""
    tenant_id, of_agent = agent.tenant_id, {"agent_id": agent.pk}
    with acting(system):
        skills = tuple(rows_at(Skill, moment, tenant_id, status=Skill.Status.APPROVED, **of_agent))
        invokable = tuple(rows_at(InvokableAgent, moment, tenant_id, **of_agent))
        agents = rows_at(Agent, moment, tenant_id)
        rules = rows_at(StandingRule, moment, tenant_id, status=StandingRule.Status.ACTIVE)
        return Rows(
            next((row for row in agents if row.pk == agent.pk), agent),
            tuple(rows_at(TenantSettings, moment, tenant_id)),
            tuple(rows_at(Persona, moment, tenant_id, status=Persona.Status.ACTIVE, **of_agent)),
            tuple(rows_at(PersonaOverlay, moment, tenant_id, **of_agent)),
            tuple(rows_at(IdentityCard, moment, tenant_id, line_key="", **of_agent)),
            tuple(rule for rule in rules if rule.agent_id in {None, agent.pk}),
            skills,
            invokable,
            tuple(row for row in agents if row.pk in {each.callee_id for each in invokable}),
            tuple(rows_at(AgentMemory, moment, tenant_id, **of_agent)),
            tuple(rows_at(MemoryBlock, moment, tenant_id, pinned=True, **of_agent)),
            tuple(rows_at(CustomerProfile, moment, tenant_id, end_user_key=end_user_key)) if end_user_key else (),
            _use_counts(skills),
        )


def _slot(name: str, read: Callable[[], tuple[Read, ...]]) -> tuple[Read, ...]:
    try:
        with transaction.atomic():
            return read()
    except DatabaseError:
        logger.exception("prompt slot omitted", extra={"slot": name})
        return ()


def _profiles(end_user_key: str, actor: Actor) -> tuple[CustomerProfile, ...]:
    if not end_user_key:
        return ()
    return tuple(CustomerProfile.objects.visible_to(actor).filter(end_user_key=end_user_key))


def _use_counts(skills: tuple[Skill, ...]) -> tuple[tuple[int, int], ...]:
    counted = SkillUse.objects.filter(skill_id__in=[skill.pk for skill in skills])
    return tuple(counted.values_list("skill_id", "use_count"))
