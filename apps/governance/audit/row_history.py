"""Row history from change records: rows as of a moment, the last writer of each field, versions and their differences.

Each change record is one version of a governed row (R031, R062). `records_by_evidence` finds records that cite given evidence.
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

# A bound on the records read per row, so that frequent saves of a row do not slow down the start of a session.
RECORDS_READ = 100
_FIND_LAST_WRITERS: Final = load_query("apps/governance/audit/queries/find_last_writers.sql")
_EVIDENCE_QUERY: Final = "SELECT find_change_records_by_evidence(%s::text[]::jsonb[])"


@dataclass(frozen=True, slots=True)
class FieldAuthorship:
    """The last writer of a field, and the version that was written.

    `approver` equals the writer if the writer is a person, else it is empty.
    """

    version: int
    author: str
    approver: str
    taint: str


@dataclass(frozen=True, slots=True)
class RecordsAtMoment:
    """The latest change records of rows as of a moment, divided into those with their text and those whose text was erased."""

    known: tuple[ChangeRecord, ...]
    erased: tuple[ChangeRecord, ...]


def rows_at(model: type[Row], moment: datetime, tenant_id: int, **equal: int | str | None) -> list[Row]:
    """Return the rows as of a moment whose recorded values equal `equal`, as unsaved instances.

    Rows that were removed by that moment are left out. A field that was added to the model after a record was written has its
    default value, and cannot be used to find the row. Raises `TextErased` if the text of a latest record was erased and its row
    might match. The caller must act as an actor that may read the records.
    """
    found = records_at(model, moment, tenant_id, **equal)
    if found.erased and not (found.known and _is_unique_row(model, equal)):
        raise _erased_text_error(found.erased[0])
    return [row_from_record(model, record) for record in found.known]


def records_at(model: type[Governed], moment: datetime, tenant_id: int, **equal: int | str | None) -> RecordsAtMoment:
    """Return the latest record, as of the moment, of each row that matches `equal`.

    Erased records are returned unfiltered, as any may match.
    """
    latest = (
        ChangeRecord.objects.filter(tenant_id=tenant_id, subject_type=model._meta.label_lower, created_at__lte=moment)
        .order_by("subject_id", "-id")
        .distinct("subject_id")
    )
    # Removals are recorded with version 0.
    records = list(
        ChangeRecord.objects.filter(pk__in=latest.values("pk"), version_after__gt=0)
        .filter(Q(text__isnull=True) | Q(text__after__contains=equal))
        .select_related("text")
        .order_by("subject_id")
    )
    known = tuple(record for record in records if hasattr(record, "text"))
    return RecordsAtMoment(known, tuple(record for record in records if not hasattr(record, "text")))


def _is_unique_row(model: type[Governed], equal: Iterable[str]) -> bool:
    """Whether a unique constraint allows at most one row with these values."""
    given = {"tenant", *(name.removesuffix("_id") for name in equal)}
    alone = (each for each in model._meta.constraints if isinstance(each, UniqueConstraint) and not each.condition)
    return any(given >= set(each.fields) for each in alone)


def _erased_text_error(record: ChangeRecord) -> TextErased:
    return TextErased(
        f"The text of record {record.pk} was erased ({record.act} on {record.subject_type} {record.subject_id},"
        f" {record.created_at.isoformat(timespec='seconds')}), so its content at that moment is unknown."
        " Ask for a moment before it, or after a later change of that row."
    )


def records_by_evidence(tenant_id: int, facts: Iterable[Mapping[str, object]]) -> QuerySet[ChangeRecord]:
    """Return the records whose evidence contains one of these facts, oldest first. Call this as a person or the system."""
    facts_json = [json.dumps(fact) for fact in facts]
    with connection.cursor() as cursor:
        ids = [row_id for (row_id,) in cursor.execute(_EVIDENCE_QUERY, [facts_json])] if facts_json else []
    return ChangeRecord.objects.filter(tenant_id=tenant_id, pk__in=ids).order_by("id")


def row_from_record(model: type[Row], record: ChangeRecord) -> Row:
    """Return the row as the record describes it, as an unsaved instance."""
    known = {field.attname: field for field in model._meta.concrete_fields}
    values = {name: known[name].to_python(value) for name, value in record.text.after.items() if name in known}
    return model(pk=record.subject_id, version=record.version_after, **values)


def field_authorships(
    rows: Iterable[Governed], tenant_id: int, moment: datetime | None = None
) -> Mapping[FieldKey, FieldAuthorship]:
    """Return the last writer of each field of these rows, as of `moment`.

    A field is left out if none of the row's latest `RECORDS_READ` records wrote it, or if a later record whose text was erased
    may have written it.
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
    """A row after one change, and the author of that change. `values` is None if the text was erased; number 0 is a removal."""

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
        """Whether the text of this version was erased. Its change record is kept."""
        return self.values is None

    @property
    def own_values(self) -> Values | None:
        """The values without the tenant's id, since readers only see their own tenant."""
        return (
            None if self.values is None else {name: value for name, value in self.values.items() if name != "tenant_id"}
        )


@dataclass(frozen=True, slots=True)
class FieldDifference:
    """The values of one field in two versions. None means that the version did not have the field yet."""

    field: str
    before: Any  # Any: whatever JSON holds
    after: Any  # Any: whatever JSON holds


def records_of(subject_type: str, subject_id: int) -> QuerySet[ChangeRecord]:
    """The change records of one row with their texts, newest first, in one statement."""
    return ChangeRecord.objects.filter(subject_type=subject_type, subject_id=subject_id).select_related("text")


def version_of(record: ChangeRecord) -> RowVersion:
    """Return the version that a change record describes."""
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
    """Return the change record of this version. Raises `NotVisible` if the row has no such version."""
    record = records_of(subject_type, subject_id).filter(version_after=number).first() if number > 0 else None
    if record is None:
        raise NotVisible(
            f"There is no version {number} of {subject_type} {subject_id}. Choose one from its list of versions."
        )
    return record


def numbered_versions(row: Governed, numbers: Iterable[int]) -> list[RowVersion]:
    """Return the given versions of a row, in the given order, with one query.

    Raises `NotVisible` for a version that does not exist.
    """
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
    """Return the fields that differ, sorted by name. Raises `TextErased` if the text of either version was erased."""
    for version in (before, after):
        if version.values is None:
            raise TextErased(f"The words of version {version.number} were erased. Compare two other versions.")
    old, new = before.values or {}, after.values or {}
    return tuple(
        FieldDifference(name, old.get(name), new.get(name))
        for name in sorted({*old, *new})
        if old.get(name) != new.get(name)
    )
