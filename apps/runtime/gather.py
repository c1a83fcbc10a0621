"""From rows to the values of slots 1-5, each text with the row it stands in and the person who answers for it."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

from apps.governance.acting import acting
from apps.governance.actors import Actor
from apps.governance.history import Field, Stamp, stamps
from apps.governance.models import Governed
from apps.memory.models import AgentMemory, CustomerProfile, MemoryBlock
from apps.personas.models import IdentityCard
from apps.prompt import values
from apps.prompt.values import Disclosure, Flavour, Passage, SkillIndex, SlotOrder, Source
from apps.runtime.rows import Rows, rows_now, rows_then
from apps.skills.models import Skill
from apps.tenants.models import Agent, TenantSettings

BARE = values.PromptInput(agent_key=None)
PERSONA_FIELDS = ("identity", "style", "avoid", "defaults", "goals")
CARD_FIELDS = ("business_name", "assigned_name", "assigned_title", "hours", "timezone", "signature", "locale")

Stamps = Mapping[Field, Stamp]


def gather(agent: Agent, end_user_key: str, *, actor: Actor, system: Actor) -> values.PromptInput:
    """The values a session that opens now is made from. The bare agent is told nothing and nothing is read for it (R001)."""
    if not agent.learns:
        return BARE
    return _told(rows_now(agent, end_user_key, actor=actor, system=system), system)


def gather_at(agent: Agent, end_user_key: str, moment: datetime, *, system: Actor) -> values.PromptInput:
    """The same for a session that had opened at a moment of the past."""
    rows = rows_then(agent, end_user_key, moment, system=system)
    return _told(rows, system, moment) if rows.agent.learns else BARE


def _told(rows: Rows, system: Actor, moment: datetime | None = None) -> values.PromptInput:
    with acting(system):
        known = stamps(rows.written_by_people(), system.tenant_id, moment)
    return prompt_input(rows, known)


def prompt_input(rows: Rows, known: Stamps) -> values.PromptInput:
    """Each row as the value the prompt knows it by."""
    agent = rows.agent
    settings = next(iter(rows.settings), TenantSettings())
    return values.PromptInput(
        agent_key=agent.key,
        flavour=Flavour(agent.flavour),
        order=SlotOrder(settings.slot_order),
        tier=agent.context_tier,
        disclosure=Disclosure(settings.ai_disclosure),
        skill_index=SkillIndex(agent.skill_index),
        identity_card=next((_card(row, known) for row in rows.cards), None),
        persona=next((_persona(row, known) for row in rows.personas), None),
        overlay=next((_passage(row, "text", known) for row in rows.overlays), None),
        contract_override=_passage(agent, "contract", known),
        organisation_rules=_rules(rows, known, of_agent=False),
        agent_rules=_rules(rows, known, of_agent=True),
        skills=_skills(rows),
        invokable=_invokable(rows, known),
        memory=_memory(rows),
        profile=next((_profile(row) for row in rows.profiles), None),
        skills_guidance=True,
    )


def _passage(row: Governed, field: str, known: Stamps) -> Passage | None:
    """A text that people write; None where there is none."""
    text = getattr(row, field)
    return Passage(text, _source(row, field, known)) if text.strip() else None


def _source(row: Governed, field: str, known: Stamps) -> Source:
    kind, stamp = row._meta.label_lower, known.get((row._meta.label_lower, int(row.pk), field))
    if stamp is None:
        return Source(kind, row.pk, row.version, field, taint=row.taint)
    return Source(kind, row.pk, stamp.version, field, stamp.author, stamp.approver, stamp.taint)


def _persona(row: Governed, known: Stamps) -> values.Persona:
    return values.Persona(**{field: _passage(row, field, known) for field in PERSONA_FIELDS})


def _card(row: Governed, known: Stamps) -> values.IdentityCard:
    return values.IdentityCard(**{field: _passage(row, field, known) for field in CARD_FIELDS})


def line_card(row: IdentityCard, known: Stamps) -> values.LineCard | None:
    """Who is in charge of one line; None where the card names nobody."""
    name = _passage(row, "assigned_name", known)
    return values.LineCard(row.line_key, name, _passage(row, "assigned_title", known)) if name else None


def _rules(rows: Rows, known: Stamps, *, of_agent: bool) -> tuple[Passage, ...]:
    chosen = (rule for rule in rows.rules if (rule.agent_id is not None) == of_agent)
    passages = ((_passage(rule, "text", known), rule.position) for rule in chosen)
    return tuple(replace(passage, position=position) for passage, position in passages if passage)


def _skills(rows: Rows) -> tuple[values.SkillLine, ...]:
    counts = dict(rows.use_counts)
    return tuple(
        values.SkillLine(row.pk, row.name, row.title, row.description, counts.get(row.pk, 0), _approved(row), row.body)
        for row in rows.skills
    )


def _approved(row: Skill) -> Source:
    return Source(row._meta.label_lower, row.pk, row.version, "", row.drafted_by, row.approved_by, row.taint)


def _invokable(rows: Rows, known: Stamps) -> tuple[values.Invokable, ...]:
    callees = {row.pk: row for row in rows.callees}
    return tuple(
        values.Invokable(
            callees[row.callee_id].key, callees[row.callee_id].title, row.role_hint, _source(row, "role_hint", known)
        )
        for row in rows.invokable
        if row.callee_id in callees
    )


def _memory(rows: Rows) -> values.Memory | None:
    body = tuple(_remembered(row) for row in rows.memories)
    blocks = tuple(values.Block(row.label, _remembered(row)) for row in rows.blocks)
    return values.Memory(body=body, blocks=blocks) if body or blocks else None


def _remembered(row: AgentMemory | MemoryBlock) -> Passage:
    """A person's words stand as prose, an agent's own as data (Z-22)."""
    approver = row.updated_by if row.is_approved else ""
    return Passage(
        row.body, Source(row._meta.label_lower, row.pk, row.version, "body", row.updated_by, approver, row.taint)
    )


def _profile(row: CustomerProfile) -> values.Profile:
    def passage(field: str) -> Passage | None:
        text, author = getattr(row, field), row.updated_by
        source = Source(row._meta.label_lower, row.pk, row.version, field, author, "", row.taint)
        return Passage(text, source) if text.strip() else None

    return values.Profile(passage("preferences"), passage("notes"))
