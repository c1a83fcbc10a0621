"""The descendants of a conversation: rows whose change records name it, their later changes, and the content that remains."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from django.apps import apps

from apps.conversations.models import Conversation
from apps.conversations.quarantine import quarantine_conversation
from apps.governance.actors import Actor
from apps.governance.audit.row_history import records_by_evidence
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import refuse_blank
from apps.governance.governed_write import authorize
from apps.governance.models import ChangeRecord, Governed, Proposal
from apps.governance.policy.policy_table import Act
from apps.governance.proposals.actions import quarantine_proposal
from apps.governance.proposals.approval_rules import CONVERSATION, CONVERSATIONS
from apps.memory.line_decisions import quarantine_block_lines, quarantine_memory_lines, quarantine_profile_lines
from apps.memory.models import AgentMemory, CustomerProfile, MemoryBlock
from apps.prompt.memory_lines.line_diff import distinct_lines, split_lines, strip_line
from apps.skills.models import Skill
from apps.skills.quarantine import quarantine_skill

# The text fields that are tracked line by line.
_LINE_FIELDS: Final[Mapping[type[Governed], tuple[str, ...]]] = {
    AgentMemory: ("body",),
    MemoryBlock: ("body",),
    CustomerProfile: ("preferences", "notes"),
}
_PROPOSAL_TYPE: Final = Proposal._meta.label_lower


@dataclass(frozen=True, slots=True)
class Descendant:
    """A row with content from the conversation: the first such version, its change records, and the remaining content."""

    record_type: str
    record_id: int
    label: str
    taint: str
    since_version: int
    acts: tuple[str, ...]
    records: tuple[int, ...]
    row: Governed | None
    lines: tuple[str, ...] = ()
    standing: tuple[str, ...] = ()

    @property
    def state(self) -> str:
        """Return the current state of the row in one word."""
        match self.row:
            case None:
                return "gone"
            case Skill() if self.row.is_quarantined:
                return "quarantined"
            case Skill():
                return str(self.row.status)
            case Proposal():
                return str(self.row.current_state)
        if type(self.row) not in _LINE_FIELDS:
            return "live"
        return "live" if self.standing else "taken out"

    @property
    def can_be_quarantined(self) -> bool:
        """Return whether one action removes the row's content from all prompts."""
        return bool(
            (isinstance(self.row, Skill) and self.row.status != Skill.Status.DEPRECATED and not self.row.is_quarantined)
            or (isinstance(self.row, Proposal) and self.row.is_open)
            or self.standing
        )


def descendants(conversation: Conversation, *, actor: Actor) -> list[Descendant]:
    """Return all rows that contain content from the conversation, oldest first, by their change records and through proposals."""
    with acting_as(actor):
        direct = records_by_evidence(
            actor.tenant_id, ({CONVERSATION: conversation.pk}, {CONVERSATIONS: [conversation.pk]})
        )
        found = list(direct.exclude(subject_type=Conversation._meta.label_lower).select_related("text"))
        proposed = {record.subject_id for record in found if record.subject_type == _PROPOSAL_TYPE}
        applied = records_by_evidence(actor.tenant_id, ({"proposal_id": pk} for pk in sorted(proposed)))
        found += list(applied.exclude(pk__in=[record.pk for record in found]).select_related("text"))
        found += _later_skill_changes(found, actor)
        return list(_group_by_row(sorted(found, key=lambda record: record.pk)))


def quarantine_descendants(conversation: Conversation, *, actor: Actor, reason: str) -> list[Descendant]:
    """Quarantine the conversation and every row that can be, by one action each, in one commit with one reason.

    Nothing more is learned from the conversation. Returns the quarantined rows.
    """
    authorize(actor, Act.PROPOSAL_QUARANTINE, conversation.tenant_id)
    refuse_blank(reason, "Say why; the person who later releases any of it needs the reason.")
    with acting_as(actor):
        taken = [found for found in descendants(conversation, actor=actor) if found.can_be_quarantined]
        # Proposals first: quarantining a line needs the slot of the open proposal.
        for found in sorted(taken, key=lambda each: not isinstance(each.row, Proposal)):
            _quarantine_row(found, conversation, actor, reason)
        stored = Conversation.objects.visible_to(actor).get(pk=conversation.pk)
        if not (stored.is_quarantined or stored.is_talk):
            quarantine_conversation(stored, actor=actor, reason=reason)
    return taken


def _quarantine_row(found: Descendant, conversation: Conversation, actor: Actor, reason: str) -> None:
    evidence = {"conversation_id": conversation.pk}
    match found.row:
        case Skill():
            quarantine_skill(found.row, actor=actor, reason=reason)
        case Proposal():
            quarantine_proposal(found.row, actor=actor, reason=reason)
        case AgentMemory():
            quarantine_memory_lines(found.row, actor=actor, lines=found.standing, reason=reason, evidence=evidence)
        case MemoryBlock():
            quarantine_block_lines(found.row, actor=actor, lines=found.standing, reason=reason, evidence=evidence)
        case CustomerProfile():
            quarantine_profile_lines(found.row, actor=actor, lines=found.standing, reason=reason, evidence=evidence)


def _later_skill_changes(found: Iterable[ChangeRecord], actor: Actor) -> list[ChangeRecord]:
    """Return later changes of the skills that were reached, since each version is based on the previous one."""
    skill = Skill._meta.label_lower
    first: dict[int, int] = {}
    for record in found:
        if record.subject_type == skill:
            first.setdefault(record.subject_id, record.pk)
    seen = {record.pk for record in found}
    later = ChangeRecord.objects.filter(tenant_id=actor.tenant_id, subject_type=skill, subject_id__in=sorted(first))
    return [
        record
        for record in later.select_related("text")
        if record.pk not in seen and record.pk > first[record.subject_id]
    ]


def _group_by_row(records: Iterable[ChangeRecord]) -> Iterator[Descendant]:
    together: dict[tuple[str, int], list[ChangeRecord]] = {}
    for record in records:
        together.setdefault((record.subject_type, record.subject_id), []).append(record)
    for (kind, pk), of_row in together.items():
        yield _make_descendant(kind, pk, of_row)


def _make_descendant(kind: str, pk: int, records: list[ChangeRecord]) -> Descendant:
    model = cast("type[Governed]", apps.get_model(kind))
    row = model._base_manager.select_related(*model.named_after or (None,)).filter(pk=pk).first()
    texts = _LINE_FIELDS.get(model, ())
    lines = tuple(dict.fromkeys(line for record in records for line in _added_lines(record, texts)))
    live = distinct_lines("\n".join(str(getattr(row, name)) for name in texts)) if row is not None else frozenset()
    return Descendant(
        kind,
        pk,
        str(row) if row is not None else records[-1].subject_label,
        row.taint if row is not None else records[-1].taint,
        records[0].version_after,
        tuple(dict.fromkeys(record.act for record in records)),
        tuple(record.pk for record in records),
        row,
        lines,
        tuple(line for line in lines if line in live),
    )


def _added_lines(record: ChangeRecord, texts: tuple[str, ...]) -> Iterator[str]:
    """Yield the lines that a change added; none if the change record's text was erased."""
    text: Any = getattr(record, "text", None)
    for name in texts if text is not None else ():
        before = distinct_lines(str(text.before.get(name, "")))
        after = [strip_line(line) for line in split_lines(str(text.after.get(name, "")))]
        yield from (line for line in after if line and line not in before)
