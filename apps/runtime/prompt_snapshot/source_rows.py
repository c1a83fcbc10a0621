"""Reads the source rows of slots 1-5: current rows under the agent's own identity (R003, R014), or past versions (R062)."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from django.db.models import Model, QuerySet

from apps.governance.actors import Actor
from apps.governance.audit.row_history import rows_at
from apps.governance.database.actor_transaction import acting_as
from apps.governance.models import Governed
from apps.memory.models import AgentMemory, CustomerProfile, MemoryBlock, MemoryTier
from apps.notebook.models import Note
from apps.personas.models import IdentityCard, MemberOverlay, Persona, PersonaOverlay, StandingRule
from apps.runtime.prompt_snapshot.optional_reads import read_or_omit
from apps.skills.models import Skill, SkillUse
from apps.tenants.models import Agent, InvokableAgent, TenantSettings

Row = TypeVar("Row", bound=Model)


@dataclass(frozen=True, slots=True)
class SourceRows:
    """The source rows of a prompt. A field is empty if there is no row or it could not be read (R044)."""

    agent: Agent
    settings: tuple[TenantSettings, ...] = ()
    personas: tuple[Persona, ...] = ()
    overlays: tuple[PersonaOverlay, ...] = ()
    member_overlays: tuple[MemberOverlay, ...] = ()
    cards: tuple[IdentityCard, ...] = ()
    rules: tuple[StandingRule, ...] = ()
    skills: tuple[Skill, ...] = ()
    invokable: tuple[InvokableAgent, ...] = ()
    callees: tuple[Agent, ...] = ()
    memories: tuple[AgentMemory, ...] = ()
    blocks: tuple[MemoryBlock, ...] = ()
    tiers: tuple[MemoryTier, ...] = ()
    profiles: tuple[CustomerProfile, ...] = ()
    use_counts: tuple[tuple[int, int], ...] = ()
    notes: tuple[Note, ...] = ()

    def stamped(self) -> Iterator[Governed]:
        """The rows whose authors are looked up in the change records, field by field.

        Memories and skills are left out. Their texts can be long, so their authors are found without reading texts.
        """
        yield self.agent
        yield from (*self.personas, *self.overlays, *self.member_overlays, *self.cards, *self.rules)
        yield from (*self.invokable, *self.callees, *self.blocks, *self.profiles)


def read_current_rows(agent: Agent, end_user_key: str, *, actor: Actor, system: Actor) -> SourceRows:
    """The rows for a session that opens now. If a read fails, its slot is left out."""
    mine = {"agent_id": agent.pk}
    with acting_as(system):
        settings = read_settings(system)
        # Read as the system, because the agent's own role does not see the row of the other agent.
        asked = InvokableAgent.objects.visible_to(system).filter(**mine).select_related("callee")
        invokable = _read_rows("invokable", asked)
    with acting_as(actor):
        skills = _read_rows("skills", Skill.objects.visible_to(actor).approved().for_agent(agent.pk))
        known = CustomerProfile.objects.visible_to(actor).filter(end_user_key=end_user_key)
        return SourceRows(
            agent,
            settings,
            _read_rows("persona", Persona.objects.visible_to(actor).active().filter(**mine)),
            _read_rows("persona", PersonaOverlay.objects.visible_to(actor).filter(**mine)),
            _read_rows("persona", MemberOverlay.objects.visible_to(actor).filter(**mine)) if actor.member_id else (),
            _read_rows("persona", IdentityCard.objects.visible_to(actor).filter(line_key="", **mine)),
            _read_rows("contract", StandingRule.objects.visible_to(actor).active().for_agent(agent.pk)),
            skills,
            invokable,
            tuple(row.callee for row in invokable),
            _read_rows("memory", AgentMemory.objects.visible_to(actor).filter(**mine)),
            _read_rows("memory", MemoryBlock.objects.visible_to(actor).filter(is_pinned=True, **mine)),
            _read_rows("memory", MemoryTier.objects.visible_to(actor).filter(status=MemoryTier.Status.ACTIVE, **mine)),
            _read_rows("profile", known) if end_user_key and actor.customer_is_proven else (),
            read_or_omit("skills", lambda: _use_counts(skills), ()),
            _notes(agent, end_user_key if actor.customer_is_proven else "", actor),
        )


def _notes(agent: Agent, end_user_key: str, actor: Actor) -> tuple[Note, ...]:
    """The open notes about this customer and those about no customer. Agents without a notebook skip this query (R177)."""
    if not agent.has_notebook:
        return ()
    mine = Note.objects.visible_to(actor).open().filter(agent_id=agent.pk, end_user_key__in={"", end_user_key})
    return _read_rows("notebook", mine.order_by("pk"))


def read_settings(system: Actor) -> tuple[TenantSettings, ...]:
    """The tenant's settings row. The caller acts as the system."""
    return _read_rows("settings", TenantSettings.objects.visible_to(system))


def read_rows_at(agent: Agent, end_user_key: str, moment: datetime, *, system: Actor) -> SourceRows:
    """The rows of a session that opened at a past moment. Use counts have no history, so today's counts choose the skills."""
    tenant_id, of_agent = agent.tenant_id, {"agent_id": agent.pk}
    with acting_as(system):
        approved = rows_at(Skill, moment, tenant_id, status=Skill.Status.APPROVED, **of_agent)
        skills = tuple(skill for skill in approved if not skill.is_quarantined)
        invokable = tuple(rows_at(InvokableAgent, moment, tenant_id, **of_agent))
        agents = rows_at(Agent, moment, tenant_id)
        rules = rows_at(StandingRule, moment, tenant_id, status=StandingRule.Status.ACTIVE)
        mine = next((row for row in agents if row.pk == agent.pk), agent)
        return SourceRows(
            mine,
            tuple(rows_at(TenantSettings, moment, tenant_id)),
            tuple(rows_at(Persona, moment, tenant_id, status=Persona.Status.ACTIVE, **of_agent)),
            tuple(rows_at(PersonaOverlay, moment, tenant_id, **of_agent)),
            # Member overlays are private, so a past prompt is shown without one.
            (),
            tuple(rows_at(IdentityCard, moment, tenant_id, line_key="", **of_agent)),
            tuple(rule for rule in rules if rule.agent_id in {None, agent.pk}),
            skills,
            invokable,
            tuple(row for row in agents if row.pk in {each.callee_id for each in invokable}),
            tuple(rows_at(AgentMemory, moment, tenant_id, **of_agent)),
            tuple(rows_at(MemoryBlock, moment, tenant_id, is_pinned=True, **of_agent)),
            tuple(rows_at(MemoryTier, moment, tenant_id, status=MemoryTier.Status.ACTIVE, **of_agent)),
            tuple(rows_at(CustomerProfile, moment, tenant_id, end_user_key=end_user_key)) if end_user_key else (),
            _use_counts(skills),
            tuple(_notes_at(mine, end_user_key, moment)),
        )


def _notes_at(agent: Agent, end_user_key: str, moment: datetime) -> Iterator[Note]:
    for key in {"", end_user_key} if agent.has_notebook else ():
        yield from rows_at(Note, moment, agent.tenant_id, status=Note.Status.OPEN, agent_id=agent.pk, end_user_key=key)


def _read_rows(slot: str, found: QuerySet[Row]) -> tuple[Row, ...]:
    return read_or_omit(slot, lambda: tuple(found), ())


def _use_counts(skills: tuple[Skill, ...]) -> tuple[tuple[int, int], ...]:
    counted = SkillUse.objects.filter(skill_id__in=[skill.pk for skill in skills])
    return tuple(counted.values_list("skill_id", "use_count"))
