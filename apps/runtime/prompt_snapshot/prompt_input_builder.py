"""Builds the prompt input of slots 1-5 from database rows; each text keeps its row and the person who answers for it.

Notes about a customer are shown only in that customer's sessions (R168, R177).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import reduce
from operator import or_

from django.db.models import Q

from apps.governance.actors import Actor
from apps.governance.audit.row_history import Field, Stamp, stamps
from apps.governance.database.actor_transaction import acting
from apps.governance.models import ChangeRecord, Governed
from apps.governance.policy.table import Act
from apps.governance.proposals.approval_rules import Would
from apps.memory.models import AgentMemory, CustomerProfile, MemoryBlock, MemoryTier
from apps.notebook.models import Note
from apps.notebook.rules import is_due
from apps.personas.models import CARD_TEXTS, SECTIONS, IdentityCard
from apps.prompt import prompt_input as values
from apps.prompt.memory_lines.line_expiry import holding
from apps.prompt.prompt_input import Disclosure, Flavour, Passage, SkillIndex, SlotOrder, Source
from apps.runtime.prompt_snapshot.optional_reads import omitted_if_unreadable
from apps.runtime.prompt_snapshot.proposed_rows import with_change
from apps.runtime.prompt_snapshot.source_rows import Rows, rows_now, rows_then, settings_now
from apps.skills.models import Skill
from apps.tenants.models import Agent, TenantSettings


@dataclass(frozen=True, slots=True)
class Noted:
    """What of the notebook a session is told: what is about no customer by its kind, and what it is reminded of with this one."""

    reminders: tuple[Passage, ...]
    scratch: tuple[Passage, ...]
    tasks: tuple[Passage, ...]
    of_customer: tuple[Passage, ...]


def noted_in(notes: Iterable[Note], now: datetime) -> Noted:
    """What a customer's notes say never stands among those of all (R007)."""
    shown = [note for note in notes if note.kind != Note.Kind.REMINDER or is_due(note.due_at, now)]
    of_all = [note for note in shown if not note.end_user_key]
    theirs = [note for note in shown if note.end_user_key and note.kind == Note.Kind.REMINDER]
    reminders, scratch, tasks = (
        tuple(_note(note) for note in of_all if note.kind == kind)
        for kind in (Note.Kind.REMINDER, Note.Kind.SCRATCH, Note.Kind.TASK)
    )
    return Noted(reminders, scratch, tasks, tuple(map(_note, theirs)))


def _note(row: Note) -> Passage:
    approver = row.author if row.is_approved else ""
    return Passage(
        row.text, Source(row._meta.label_lower, row.pk, row.version, "text", row.author, approver, row.taint)
    )


# The acts that change the words of a skill or of a memory.
WRITING = (Act.SKILL_DRAFT, Act.SKILL_AMEND, Act.SKILL_REVISE, Act.MEMORY_AMEND)

Stamps = Mapping[Field, Stamp]
Writers = Mapping[tuple[str, int], str]


def gather(
    agent: Agent,
    end_user_key: str,
    *,
    actor: Actor,
    system: Actor,
    now: datetime,
    off_the_record: bool = False,
    would: Would | None = None,
) -> values.PromptInput:
    """The values a session that opens `now` is made from, or one that opened with a change that waits for a yes.

    Of the bare agent nothing learned is read (R001).
    """
    if not agent.has_learning:
        with acting(system):
            return bare(agent, settings_now(system))
    rows = rows_now(agent, end_user_key, actor=actor, system=system)
    told = _told(with_change(rows, would) if would else rows, system, now)
    # Off the record nothing can be written down, so nobody is told to (R178).
    return replace(told, skills_guidance=not off_the_record)


def gather_at(agent: Agent, end_user_key: str, moment: datetime, *, system: Actor) -> values.PromptInput:
    """The same for a session that had opened at a moment of the past."""
    rows = rows_then(agent, end_user_key, moment, system=system)
    return _told(rows, system, moment, moment) if rows.agent.has_learning else bare(rows.agent, rows.settings)


def bare(agent: Agent, settings: tuple[TenantSettings, ...]) -> values.PromptInput:
    """Without the learning layer: the default prompt. Whom it serves and how it speaks of being an AI still hold (Z-11)."""
    disclosure = Disclosure(next(iter(settings), TenantSettings()).ai_disclosure)
    return values.PromptInput(agent_key=None, flavour=Flavour(agent.flavour), disclosure=disclosure)


def _told(rows: Rows, system: Actor, now: datetime, moment: datetime | None = None) -> values.PromptInput:
    with acting(system):
        known: Stamps = omitted_if_unreadable("owners", lambda: stamps(rows.stamped(), system.tenant_id, moment), {})
        wrote: Writers = omitted_if_unreadable("owners", lambda: _who_wrote(rows, system.tenant_id, moment), {})
    return prompt_input(rows, known, wrote, now)


def _who_wrote(rows: Rows, tenant_id: int, moment: datetime | None) -> Writers:
    """Whose words a skill or a memory is: who changed it last, or whose proposal was applied then. Texts are not read."""
    subjects = [Q(subject_type=row._meta.label_lower, subject_id=row.pk) for row in (*rows.skills, *rows.memories)]
    if not subjects:
        return {}
    records = ChangeRecord.objects.filter(reduce(or_, subjects), tenant_id=tenant_id, act__in=WRITING)
    if moment is not None:
        records = records.filter(created_at__lte=moment)
    latest = records.order_by("subject_type", "subject_id", "-id").distinct("subject_type", "subject_id")
    return {
        (kind, subject_id): evidence.get("proposed_by") or author
        for kind, subject_id, evidence, author in latest.values_list(
            "subject_type", "subject_id", "evidence", "actor_label"
        )
    }


def prompt_input(rows: Rows, known: Stamps, wrote: Writers, now: datetime) -> values.PromptInput:
    """Each row as the value the prompt knows it by, in a session that opens `now`."""
    agent, noted = rows.agent, noted_in(rows.notes, now)
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
        member_overlay=next((_passage(row, "text", known) for row in rows.member_overlays), None),
        contract_override=_passage(agent, "contract", known),
        organisation_rules=_rules(rows, known, of_agent=False),
        agent_rules=_rules(rows, known, of_agent=True),
        skills=_skills(rows, wrote),
        invokable=_invokable(rows, known),
        memory=_memory(rows, known, wrote, noted, now),
        profile=_profile(rows, known, noted, now),
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
    return values.Persona(**{field: _passage(row, field, known) for field in SECTIONS})


def _card(row: Governed, known: Stamps) -> values.IdentityCard:
    return values.IdentityCard(**{field: _passage(row, field, known) for field in CARD_TEXTS})


def line_card(row: IdentityCard, known: Stamps) -> values.LineCard | None:
    """Who is in charge of one line; None where the card names nobody."""
    name = _passage(row, "assigned_name", known)
    title = _passage(row, "assigned_title", known)
    return values.LineCard(row.line_key, name, title) if name else None


def _rules(rows: Rows, known: Stamps, *, of_agent: bool) -> tuple[Passage, ...]:
    chosen = (rule for rule in rows.rules if (rule.agent_id is not None) == of_agent)
    passages = ((_passage(rule, "text", known), rule.position) for rule in chosen)
    return tuple(replace(passage, position=position) for passage, position in passages if passage)


def _skills(rows: Rows, wrote: Writers) -> tuple[values.SkillLine, ...]:
    counts = dict(rows.use_counts)
    return tuple(
        values.SkillLine(
            row.pk, row.name, row.title, row.description, counts.get(row.pk, 0), _approved(row, wrote), row.body
        )
        for row in rows.skills
    )


def _approved(row: Skill, wrote: Writers) -> Source:
    author = wrote.get((row._meta.label_lower, row.pk), row.drafted_by)
    return Source(row._meta.label_lower, row.pk, row.version, "", author, row.approved_by, row.taint)


def _invokable(rows: Rows, known: Stamps) -> tuple[values.Invokable, ...]:
    callees = {row.pk: row for row in rows.callees}
    return tuple(
        values.Invokable(
            callee.key,
            callee.title,
            row.role_hint,
            _source(row, "role_hint", known),
            callee_source=_source(callee, "title", known),
        )
        for row in rows.invokable
        if (callee := callees.get(row.callee_id))
    )


def _memory(rows: Rows, known: Stamps, wrote: Writers, noted: Noted, now: datetime) -> values.Memory | None:
    body = tuple(
        _remembered(row, row.version, wrote.get((row._meta.label_lower, row.pk), ""), now) for row in rows.memories
    )
    blocks = tuple(_block(row, known, now) for row in rows.blocks)
    tiers = {row.tier: (_distilled(row),) for row in rows.tiers if row.body.strip()}
    notes = {"reminders": noted.reminders, "scratch": noted.scratch, "tasks": noted.tasks}
    memory = values.Memory(body=body, blocks=blocks, **tiers, **notes)
    return memory if memory != values.Memory() else None


def _block(row: MemoryBlock, known: Stamps, now: datetime) -> values.Block:
    body, label = _source(row, "body", known), _source(row, "label", known)
    return values.Block(row.label, _remembered(row, body.version, body.author, now), label_source=label)


def _remembered(row: AgentMemory | MemoryBlock, version: int, author: str, now: datetime) -> Passage:
    """What a person wrote or let through stands as prose, an agent's own words as data (Z-22); what holds no more is left out."""
    approver = row.updated_by if row.is_approved else ""
    source = Source(row._meta.label_lower, row.pk, version, "body", author or row.updated_by, approver, row.taint)
    return Passage(holding(row.body, row.line_dates, now), source)


def _distilled(row: MemoryTier) -> Passage:
    """What a person wrote or approved is prose until the next run, the rest is data; what marks a permanent fact is for people."""
    approver = row.updated_by if row.is_approved else ""
    source = Source(row._meta.label_lower, row.pk, row.version, "body", row.updated_by, approver, row.taint)
    return Passage(row.told, source)


def _profile(rows: Rows, known: Stamps, noted: Noted, now: datetime) -> values.Profile | None:
    row = next(iter(rows.profiles), None)
    if row is None:
        return values.Profile(reminders=noted.of_customer) if noted.of_customer else None
    preferences, notes = (_noted(row, name, known, now) for name in ("preferences", "notes"))
    return values.Profile(preferences, notes, noted.of_customer)


def _noted(row: CustomerProfile, name: str, known: Stamps, now: datetime) -> Passage | None:
    """One of the two texts noted of a customer, without what holds no more."""
    passage = _passage(row, name, known)
    told = holding(passage.text, row.line_dates, now) if passage else ""
    return replace(passage, text=told) if passage and told.strip() else None
