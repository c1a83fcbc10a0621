"""Finds the causes of differences between two prompts: governed acts between two moments that added or removed a line."""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.db.models import Q

from apps.governance.actors import PEOPLE
from apps.governance.models import ChangeRecord
from apps.prompt.prompt_diff import Hunk
from apps.prompt.prompt_input import Slot
from apps.prompt.sanitizer.clean import sanitize
from apps.prompt.text_limits import CONTRACT_CHARACTERS
from apps.runtime.models import Session
from apps.tenants.models import Agent, TenantSettings

Values = Mapping[str, object]

# A source without a field is a skill's line in the index, which is made of these fields.
SKILL_TEXT_FIELDS: Final = ("name", "title", "description", "body")
# Fields that decide whether and where a row's text is in the prompt; `RENDERING_FIELDS` decide how.
PRESENCE_FIELDS: Final = ("status", "is_pinned", "agent_id", "line_key")
RENDERING_FIELDS: Final = ("label", "position", "taint", "updated_by")
# The slots that depend on each field of an agent and of the tenant's settings.
EVERY_SLOT: Final = frozenset(Slot)
SLOTS_BY_AGENT_FIELD: Final = {
    "has_learning": EVERY_SLOT,
    "context_tier": frozenset({Slot.PERSONA, Slot.MEMORY, Slot.PROFILE}),
    "flavour": frozenset({Slot.CONTRACT}),
    "contract": frozenset({Slot.CONTRACT}),
    "skill_index": frozenset({Slot.SKILLS}),
}
SETTINGS_TYPE: Final = TenantSettings._meta.label_lower
SLOTS_BY_SETTING: Final = {"ai_disclosure": frozenset({Slot.CONTRACT})}


@dataclass(frozen=True, slots=True)
class Window:
    """The time between two prompts of an agent. The caller acts as an actor who may read the change records."""

    tenant_id: int
    agent_id: int
    after: datetime
    until: datetime

    @classmethod
    def between(cls, one: Session, other: Session | None, now: datetime) -> "Window":
        """The time from the earlier session to the later one, or until now."""
        moments = sorted([one.snapshot_at, other.snapshot_at if other else now])
        return cls(one.tenant_id, one.agent_id, *moments)


@dataclass(frozen=True, slots=True)
class ChangeCause:
    """An act, with its author and the person who approved it."""

    act: str
    record_type: str
    record_id: int
    version: int
    author: str
    approver: str
    at: datetime


@dataclass(frozen=True, slots=True)
class RowField:
    """The row and field that a hunk's text comes from, in any version."""

    record_type: str
    record_id: int
    field: str

    @property
    def fields(self) -> tuple[str, ...]:
        return (self.field,) if self.field else SKILL_TEXT_FIELDS


@dataclass(frozen=True, slots=True)
class Causes:
    """The acts within a window, by row, on the rows that the hunks' texts come from, on the agent and on the settings."""

    agent_id: int
    by_row: Mapping[tuple[str, int], Sequence[ChangeRecord]]

    @classmethod
    def of(cls, hunks: Iterable[Hunk], window: Window) -> "Causes":
        """Read the acts for all hunks in one query."""
        rows = {(source.record_type, source.record_id) for hunk in hunks for source in hunk.sources}
        rows.add((Agent._meta.label_lower, window.agent_id))
        kinds = {kind for kind, _ in rows}
        subjects = Q(subject_type__in=kinds, subject_id__in={subject for _, subject in rows})
        found = ChangeRecord.objects.filter(
            subjects | Q(subject_type=SETTINGS_TYPE),
            tenant_id=window.tenant_id,
            created_at__gt=window.after,
            created_at__lte=window.until,
        )
        by_row: dict[tuple[str, int], list[ChangeRecord]] = defaultdict(list)
        for record in found.select_related("text").order_by("id"):
            by_row[record.subject_type, record.subject_id].append(record)
        return cls(window.agent_id, by_row)

    def of_hunk(self, hunk: Hunk) -> tuple[ChangeCause, ...]:
        """The acts on the rows that the hunk's text comes from, and on agent and settings if those acts don't explain all of it.

        Empty if the product's own texts changed, if changed use counts led to other skills, or if agent or customer differ.
        """
        words: dict[RowField, set[str]] = {}
        for source, text in hunk.pieces:
            words.setdefault(RowField(source.record_type, source.record_id, source.field), set()).update(
                _text_variants(text)
            )
        own = [list(self._records_of_field(place, texts)) for place, texts in words.items()]
        is_explained = bool(own) and all(own)
        found = [
            *(record for records in own for record in records),
            *([] if is_explained else self._setup_records(hunk)),
        ]
        return tuple(dict.fromkeys(map(_cause, found)))

    def of_order(self) -> tuple[ChangeCause, ...]:
        """The acts that changed the order of the slots."""
        return tuple(_cause(record) for record in self._settings_records() if _changes_any(record, ["slot_order"]))

    def _records_of_field(self, place: RowField, texts: Set[str]) -> Iterable[ChangeRecord]:
        records = self.by_row.get((place.record_type, place.record_id), ())
        shown_otherwise = [name for name in PRESENCE_FIELDS if _is_net_change(name, records)]
        telling = [
            record
            for record in records
            if _changes_any(record, shown_otherwise) or texts & _changed_lines(record, place)
        ]
        # The prompt may show the text cut or neutralised, so that none of its lines is found.
        return telling or [
            record
            for record in records
            if _is_erased(record) or _changes_any(record, [*place.fields, *RENDERING_FIELDS])
        ]

    def _setup_records(self, hunk: Hunk) -> Iterator[ChangeRecord]:
        of_agent = [name for name, slots in SLOTS_BY_AGENT_FIELD.items() if hunk.slot in slots]
        of_settings = [name for name, slots in SLOTS_BY_SETTING.items() if hunk.slot in slots]
        for record in self.by_row.get((Agent._meta.label_lower, self.agent_id), ()):
            if _changes_any(record, of_agent):
                yield record
        for record in self._settings_records():
            if _changes_any(record, of_settings):
                yield record

    def _settings_records(self) -> Iterable[ChangeRecord]:
        """The records of the settings. A tenant has one settings row."""
        return (record for (kind, _), records in self.by_row.items() if kind == SETTINGS_TYPE for record in records)


def _is_erased(record: ChangeRecord) -> bool:
    return not hasattr(record, "text")


def _values(record: ChangeRecord) -> tuple[Values, Values]:
    """The values before and after the act; empty if the record's text was erased."""
    return ({}, {}) if _is_erased(record) else (record.text.before, record.text.after)


def _changes_any(record: ChangeRecord, names: Iterable[str]) -> bool:
    before, after = _values(record)
    return any(before.get(name) != after.get(name) for name in names)


def _is_net_change(name: str, records: Sequence[ChangeRecord]) -> bool:
    """Whether the field's value differs after all these records. A value that was changed and changed back does not differ."""
    return bool(records) and _values(records[0])[0].get(name) != _values(records[-1])[1].get(name)


def _changed_lines(record: ChangeRecord, place: RowField) -> frozenset[str]:
    """The lines that this act added or removed, as stored and as the prompt would show them."""
    before, after = _values(record)
    return _lines(before, place.fields) ^ _lines(after, place.fields)


def _lines(values: Values, names: Iterable[str]) -> frozenset[str]:
    texts = [text for text in (values.get(name) for name in names) if isinstance(text, str)]
    texts += [sanitize(text, CONTRACT_CHARACTERS).text for text in texts]
    in_lines = {line.strip() for text in texts for line in text.split("\n")}
    return frozenset(in_lines | {" ".join(text.split()) for text in texts}) - {""}


def _text_variants(text: str) -> Iterator[str]:
    """The text itself and, if it may be JSON-escaped text of a fence, the unescaped text."""
    yield text.strip()
    try:
        yield str(json.loads(f'"{text}"')).strip()
    except ValueError:
        return


def _cause(record: ChangeRecord) -> ChangeCause:
    approver = record.actor_label if record.actor_role in PEOPLE else ""
    subject = record.subject_type, record.subject_id
    return ChangeCause(record.act, *subject, record.version_after, record.actor_label, approver, record.created_at)
