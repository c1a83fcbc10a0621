"""Builds the prompt input of slots 1-5 from database rows; each text keeps its row and the person responsible for it.

Notes about a customer are shown only in that customer's sessions (R168, R177).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import reduce
from operator import or_

from django.db.models import Q

from apps.governance.actors import Actor
from apps.governance.audit.row_history import FieldAuthorship, FieldKey, field_authorships
from apps.governance.database.actor_transaction import acting_as
from apps.governance.models import ChangeRecord, Governed
from apps.governance.policy.policy_table import Act
from apps.governance.proposals.approval_rules import ProposedOutcome
from apps.memory.models import AgentMemory, CustomerProfile, MemoryBlock, MemoryTier
from apps.notebook.models import Note
from apps.notebook.rules import is_due
from apps.personas.models import CARD_FIELDS, SECTIONS, IdentityCard
from apps.prompt import prompt_input as values
from apps.prompt.memory_lines.line_expiry import drop_expired_lines
from apps.prompt.prompt_input import Disclosure, Flavour, Passage, SkillIndex, SlotOrder, TextProvenance
from apps.runtime.prompt_snapshot.optional_reads import read_or_omit
from apps.runtime.prompt_snapshot.proposed_rows import with_change
from apps.runtime.prompt_snapshot.source_rows import SourceRows, read_current_rows, read_rows_at, read_settings
from apps.skills.models import Skill
from apps.tenants.models import Agent, TenantSettings


@dataclass(frozen=True, slots=True)
class PromptNotes:
    """Notes that a session shows, by kind."""

    reminders: tuple[Passage, ...]
    scratch: tuple[Passage, ...]
    tasks: tuple[Passage, ...]


def select_notes(notes: Iterable[Note], now: datetime, *, of_customer: bool) -> PromptNotes:
    """Choose the notes to show: those about the session's customer, or those about no customer (R007)."""
    shown = [note for note in notes if note.kind != Note.Kind.REMINDER or is_due(note.due_at, now)]
    reminders, scratch, tasks = (
        tuple(_note_passage(note) for note in shown if note.kind == kind and bool(note.end_user_key) == of_customer)
        for kind in (Note.Kind.REMINDER, Note.Kind.SCRATCH, Note.Kind.TASK)
    )
    return PromptNotes(reminders, scratch, tasks)


def _note_passage(row: Note) -> Passage:
    approver = row.author if row.is_approved else ""
    return Passage(
        row.text, TextProvenance(row._meta.label_lower, row.pk, row.version, "text", row.author, approver, row.taint)
    )


# The acts that change the text of a skill or a memory.
AUTHORING_ACTS = (Act.SKILL_DRAFT, Act.SKILL_AMEND, Act.SKILL_REVISE, Act.MEMORY_AMEND)

Stamps = Mapping[FieldKey, FieldAuthorship]
Writers = Mapping[tuple[str, int], str]


def read_prompt_input(
    agent: Agent,
    end_user_key: str,
    *,
    actor: Actor,
    system: Actor,
    now: datetime,
    off_the_record: bool = False,
    would: ProposedOutcome | None = None,
) -> values.PromptInput:
    """The prompt input of a session that opens `now`. If `would` is given, that change counts as approved.

    For an agent without the learning layer nothing learned is read (R001).
    """
    if not agent.has_learning:
        with acting_as(system):
            return default_prompt_input(agent, read_settings(system))
    rows = read_current_rows(agent, end_user_key, actor=actor, system=system)
    prompt_input = _read_input_values(with_change(rows, would) if would else rows, system, now)
    # An off-the-record agent cannot save anything, so its prompt leaves out the guidance on saving skills (R178).
    return replace(prompt_input, skills_guidance=not off_the_record)


def read_prompt_input_at(agent: Agent, end_user_key: str, moment: datetime, *, system: Actor) -> values.PromptInput:
    """The prompt input of a session that opened at a past moment."""
    rows = read_rows_at(agent, end_user_key, moment, system=system)
    return (
        _read_input_values(rows, system, moment, moment)
        if rows.agent.has_learning
        else default_prompt_input(rows.agent, rows.settings)
    )


def default_prompt_input(agent: Agent, settings: tuple[TenantSettings, ...]) -> values.PromptInput:
    """The default prompt input, without the learning layer. The agent's flavour and the AI disclosure still apply (Z-11)."""
    disclosure = Disclosure(next(iter(settings), TenantSettings()).ai_disclosure)
    return values.PromptInput(agent_key=None, flavour=Flavour(agent.flavour), disclosure=disclosure)


def _read_input_values(
    rows: SourceRows, system: Actor, now: datetime, moment: datetime | None = None
) -> values.PromptInput:
    with acting_as(system):
        known: Stamps = read_or_omit("owners", lambda: field_authorships(rows.stamped(), system.tenant_id, moment), {})
        wrote: Writers = read_or_omit("owners", lambda: _find_authors(rows, system.tenant_id, moment), {})
    return build_prompt_input(rows, known, wrote, now)


def _find_authors(rows: SourceRows, tenant_id: int, moment: datetime | None) -> Writers:
    """The author of each skill and memory: who made the last change, or the proposal that it applied. Reads no texts."""
    subjects = [Q(subject_type=row._meta.label_lower, subject_id=row.pk) for row in (*rows.skills, *rows.memories)]
    if not subjects:
        return {}
    records = ChangeRecord.objects.filter(reduce(or_, subjects), tenant_id=tenant_id, act__in=AUTHORING_ACTS)
    if moment is not None:
        records = records.filter(created_at__lte=moment)
    latest = records.order_by("subject_type", "subject_id", "-id").distinct("subject_type", "subject_id")
    return {
        (kind, subject_id): evidence.get("proposed_by") or author
        for kind, subject_id, evidence, author in latest.values_list(
            "subject_type", "subject_id", "evidence", "actor_label"
        )
    }


def build_prompt_input(rows: SourceRows, known: Stamps, wrote: Writers, now: datetime) -> values.PromptInput:
    """Build the prompt input from the rows, for a session that opens `now`."""
    agent = rows.agent
    of_all, of_customer = (select_notes(rows.notes, now, of_customer=which) for which in (False, True))
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
        memory=_memory(rows, known, wrote, of_all, now),
        profile=_profile(rows, known, of_customer, now),
        skills_guidance=True,
    )


def _passage(row: Governed, field: str, known: Stamps) -> Passage | None:
    """A field that people write, as a passage; None if it is empty."""
    text = getattr(row, field)
    return Passage(text, _source(row, field, known)) if text.strip() else None


def _source(row: Governed, field: str, known: Stamps) -> TextProvenance:
    kind, stamp = row._meta.label_lower, known.get((row._meta.label_lower, int(row.pk), field))
    if stamp is None:
        return TextProvenance(kind, row.pk, row.version, field, taint=row.taint)
    return TextProvenance(kind, row.pk, stamp.version, field, stamp.author, stamp.approver, stamp.taint)


def _persona(row: Governed, known: Stamps) -> values.PersonaInput:
    return values.PersonaInput(**{field: _passage(row, field, known) for field in SECTIONS})


def _card(row: Governed, known: Stamps) -> values.IdentityCardInput:
    return values.IdentityCardInput(**{field: _passage(row, field, known) for field in CARD_FIELDS})


def line_card(row: IdentityCard, known: Stamps) -> values.LineCard | None:
    """The people responsible for one phone line or inbox, from its identity card; None if the card names nobody."""
    name = _passage(row, "assigned_name", known)
    title = _passage(row, "assigned_title", known)
    return values.LineCard(row.line_key, name, title) if name else None


def _rules(rows: SourceRows, known: Stamps, *, of_agent: bool) -> tuple[Passage, ...]:
    chosen = (rule for rule in rows.rules if (rule.agent_id is not None) == of_agent)
    passages = ((_passage(rule, "text", known), rule.position) for rule in chosen)
    return tuple(replace(passage, position=position) for passage, position in passages if passage)


def _skills(rows: SourceRows, wrote: Writers) -> tuple[values.SkillInput, ...]:
    counts = dict(rows.use_counts)
    return tuple(
        values.SkillInput(
            row.pk, row.name, row.title, row.description, counts.get(row.pk, 0), _skill_source(row, wrote), row.body
        )
        for row in rows.skills
    )


def _skill_source(row: Skill, wrote: Writers) -> TextProvenance:
    author = wrote.get((row._meta.label_lower, row.pk), row.drafted_by)
    return TextProvenance(row._meta.label_lower, row.pk, row.version, "", author, row.approved_by, row.taint)


def _invokable(rows: SourceRows, known: Stamps) -> tuple[values.InvokableAgentInput, ...]:
    callees = {row.pk: row for row in rows.callees}
    return tuple(
        values.InvokableAgentInput(
            callee.key,
            callee.title,
            row.role_hint,
            _source(row, "role_hint", known),
            callee_source=_source(callee, "title", known),
        )
        for row in rows.invokable
        if (callee := callees.get(row.callee_id))
    )


def _memory(
    rows: SourceRows, known: Stamps, wrote: Writers, noted: PromptNotes, now: datetime
) -> values.MemoryInput | None:
    body = tuple(
        _memory_passage(row, row.version, wrote.get((row._meta.label_lower, row.pk), ""), now) for row in rows.memories
    )
    blocks = tuple(_block(row, known, now) for row in rows.blocks)
    tiers = {row.tier: (_tier_passage(row),) for row in rows.tiers if row.body.strip()}
    notes = {"reminders": noted.reminders, "scratch": noted.scratch, "tasks": noted.tasks}
    memory = values.MemoryInput(body=body, blocks=blocks, **tiers, **notes)
    return memory if memory != values.MemoryInput() else None


def _block(row: MemoryBlock, known: Stamps, now: datetime) -> values.PinnedBlock:
    body, label = _source(row, "body", known), _source(row, "label", known)
    return values.PinnedBlock(row.label, _memory_passage(row, body.version, body.author, now), label_source=label)


def _memory_passage(row: AgentMemory | MemoryBlock, version: int, author: str, now: datetime) -> Passage:
    """A memory text: prose if a person wrote or approved it, else data (Z-22). Expired lines are left out."""
    approver = row.updated_by if row.is_approved else ""
    source = TextProvenance(
        row._meta.label_lower, row.pk, version, "body", author or row.updated_by, approver, row.taint
    )
    return Passage(drop_expired_lines(row.body, row.line_dates, now), source)


def _tier_passage(row: MemoryTier) -> Passage:
    """A memory tier's text without marks for people: prose if a person wrote or approved it since the last run, else data."""
    approver = row.updated_by if row.is_approved else ""
    source = TextProvenance(row._meta.label_lower, row.pk, row.version, "body", row.updated_by, approver, row.taint)
    return Passage(row.told, source)


def _profile(rows: SourceRows, known: Stamps, noted: PromptNotes, now: datetime) -> values.ProfileInput | None:
    row = next(iter(rows.profiles), None)
    if row is None:
        profile = values.ProfileInput(reminders=noted.reminders, tasks=noted.tasks, scratch=noted.scratch)
        return profile if profile != values.ProfileInput() else None
    preferences, notes = (_profile_passage(row, name, known, now) for name in ("preferences", "notes"))
    return values.ProfileInput(preferences, notes, noted.reminders, noted.tasks, noted.scratch)


def _profile_passage(row: CustomerProfile, name: str, known: Stamps, now: datetime) -> Passage | None:
    """One of the two texts of a customer's profile, without expired lines."""
    passage = _passage(row, name, known)
    text = drop_expired_lines(passage.text, row.line_dates, now) if passage else ""
    return replace(passage, text=text) if passage and text.strip() else None
