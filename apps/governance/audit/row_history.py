"""Row history from change records: rows at a moment, the last writer of each field, versions and their differences.

One change record is one version of a governed row (R031, R062). `records_by_evidence` finds the records that name something
as evidence.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, TypeVar

from django.db import connection
from django.db.models import Q, QuerySet, UniqueConstraint

from apps.governance.actors import PEOPLE
from apps.governance.database.sql_files import load_query
from apps.governance.errors import NotVisible, TextErased
from apps.governance.models import ChangeRecord, Governed

Row = TypeVar("Row", bound=Governed)
FieldKey = tuple[str, int, str]

# A session's beginning must not grow with the number of times a row was saved.
RECORDS_READ = 100
_FIND_LAST_WRITERS: Final = load_query("apps/governance/audit/queries/find_last_writers.sql")
_EVIDENCE_QUERY: Final = "SELECT find_change_records_by_evidence(%s::text[]::jsonb[])"


@dataclass(frozen=True, slots=True)
class FieldAuthorship:
    """Who last wrote a field, in which version; `approver` is the person who did or let it, if one did."""

    version: int
    author: str
    approver: str
    taint: str


@dataclass(frozen=True, slots=True)
class RecordsAtMoment:
    """The records that decide what stood at a moment: those whose words are kept, and those whose words were erased."""

    known: tuple[ChangeRecord, ...]
    erased: tuple[ChangeRecord, ...]


def rows_at(model: type[Row], moment: datetime, tenant_id: int, **equal: int | str | None) -> list[Row]:
    """The rows whose recorded values equal these, unsaved, as they stood; rows that were gone by then are not among them.

    A field that is younger than the record has its default, but finds no row. Where the text of the deciding record is
    erased and the row may be one of these, nobody knows, and `TextErased` says so. The caller acts as somebody who may read
    the records.
    """
    found = records_at(model, moment, tenant_id, **equal)
    if found.erased and not (found.known and _is_unique_row(model, equal)):
        raise _erased_text_error(found.erased[0])
    return [row_from_record(model, record) for record in found.known]


def records_at(model: type[Governed], moment: datetime, tenant_id: int, **equal: int | str | None) -> RecordsAtMoment:
    """The record of each such row that was its latest then; an erased one may be of any row of the noun."""
    latest = (
        ChangeRecord.objects.filter(tenant_id=tenant_id, subject_type=model._meta.label_lower, created_at__lte=moment)
        .order_by("subject_id", "-id")
        .distinct("subject_id")
    )
    # Whoever removed the row left no version.
    records = list(
        ChangeRecord.objects.filter(pk__in=latest.values("pk"), version_after__gt=0)
        .filter(Q(text__isnull=True) | Q(text__after__contains=equal))
        .select_related("text")
        .order_by("subject_id")
    )
    known = tuple(record for record in records if hasattr(record, "text"))
    return RecordsAtMoment(known, tuple(record for record in records if not hasattr(record, "text")))


def _is_unique_row(model: type[Governed], equal: Iterable[str]) -> bool:
    """Whether no second row can have these values."""
    given = {"tenant", *(name.removesuffix("_id") for name in equal)}
    alone = (each for each in model._meta.constraints if isinstance(each, UniqueConstraint) and not each.condition)
    return any(given >= set(each.fields) for each in alone)


def _erased_text_error(record: ChangeRecord) -> TextErased:
    return TextErased(
        f"The text of record {record.pk} was erased ({record.act} on {record.subject_type} {record.subject_id},"
        f" {record.created_at.isoformat(timespec='seconds')}), so nobody can say any more what stood there then."
        " Ask for a moment before it, or after a later change of that row."
    )


def records_by_evidence(tenant_id: int, facts: Iterable[Mapping[str, object]]) -> QuerySet[ChangeRecord]:
    """The records whose evidence says one of these, oldest first. Whoever calls acts as a person or the house."""
    facts_json = [json.dumps(fact) for fact in facts]
    with connection.cursor() as cursor:
        ids = [row_id for (row_id,) in cursor.execute(_EVIDENCE_QUERY, [facts_json])] if facts_json else []
    return ChangeRecord.objects.filter(tenant_id=tenant_id, pk__in=ids).order_by("id")


def row_from_record(model: type[Row], record: ChangeRecord) -> Row:
    """The row as a record left it, unsaved."""
    known = {field.attname: field for field in model._meta.concrete_fields}
    values = {name: known[name].to_python(value) for name, value in record.text.after.items() if name in known}
    return model(pk=record.subject_id, version=record.version_after, **values)


def field_authorships(
    rows: Iterable[Governed], tenant_id: int, moment: datetime | None = None
) -> Mapping[FieldKey, FieldAuthorship]:
    """For each field of these rows the change that last wrote it, until `moment`.

    A field that the row's latest `RECORDS_READ` records did not write has none, nor has one that a later record, whose text
    is erased, may have written.
    """
    subjects = [(row._meta.label_lower, int(row.pk)) for row in rows]
    if not subjects:
        return {}
    with connection.cursor() as cursor:
        given: dict[str, Any] = {  # Any: values of a statement
            "kinds": [kind for kind, _ in subjects],
            "ids": [pk for _, pk in subjects],
            "tenant": tenant_id,
            "moment": moment,
            "most": RECORDS_READ,
        }
        cursor.execute(_FIND_LAST_WRITERS, given)
        return {(kind, pk, key): _field_authorship(*rest) for kind, pk, key, *rest in cursor.fetchall()}


def _field_authorship(version: int, author: str, role: str, taint: str) -> FieldAuthorship:
    return FieldAuthorship(version, author, author if role in PEOPLE else "", taint)


Values = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RowVersion:
    """A row as one change left it, and who left it so. Values that were erased are None; number 0 is a removal."""

    number: int
    record_id: int
    act: str
    by: str
    role: str
    created_at: datetime
    taint: str
    reason: str
    values: Values | None

    @property
    def is_erased(self) -> bool:
        """Whether the words of this version were removed; that it was there stays on record."""
        return self.values is None

    @property
    def own_values(self) -> Values | None:
        """The values without the tenant, which is the reader's own."""
        return (
            None if self.values is None else {name: value for name, value in self.values.items() if name != "tenant_id"}
        )


@dataclass(frozen=True, slots=True)
class FieldDifference:
    """What one field holds in each of two versions; a field that one of them did not have yet is None there."""

    field: str
    before: Any  # Any: whatever JSON holds
    after: Any  # Any: whatever JSON holds


def records_of(subject_type: str, subject_id: int) -> QuerySet[ChangeRecord]:
    """The change records of one row with their words, the newest first, in one statement."""
    return ChangeRecord.objects.filter(subject_type=subject_type, subject_id=subject_id).select_related("text")


def version_of(record: ChangeRecord) -> RowVersion:
    """The version that a change left."""
    text = getattr(record, "text", None)
    return RowVersion(
        number=record.version_after,
        record_id=record.pk,
        act=record.act,
        by=record.actor_label,
        role=record.actor_role,
        created_at=record.created_at,
        taint=record.taint,
        reason=text.reason if text else "",
        values=text.after if text else None,
    )


def record_of_version(subject_type: str, subject_id: int, number: int) -> ChangeRecord:
    """The record that left this version; refused where the row never had it."""
    record = records_of(subject_type, subject_id).filter(version_after=number).first() if number > 0 else None
    if record is None:
        raise NotVisible(
            f"There is no version {number} of {subject_type} {subject_id}. Choose one from its list of versions."
        )
    return record


def numbered_versions(row: Governed, numbers: Iterable[int]) -> list[RowVersion]:
    """These versions of a row in the order asked, read at once; refused if one of them never was."""
    asked = list(numbers)
    found = records_of(row._meta.label_lower, row.pk).filter(version_after__in=asked, version_after__gt=0)
    known = {record.version_after: version_of(record) for record in found}
    for number in asked:
        if number not in known:
            raise NotVisible(
                f"There is no version {number} of this {row._meta.verbose_name}. It has versions 1 to {row.version}."
            )
    return [known[number] for number in asked]


def field_differences(before: RowVersion, after: RowVersion) -> tuple[FieldDifference, ...]:
    """The fields that differ, in the order of their names. Erased words cannot be compared, and nobody guesses."""
    for version in (before, after):
        if version.values is None:
            raise TextErased(f"The words of version {version.number} were erased. Compare two other versions.")
    old, new = before.values or {}, after.values or {}
    return tuple(
        FieldDifference(name, old.get(name), new.get(name))
        for name in sorted({*old, *new})
        if old.get(name) != new.get(name)
    )
