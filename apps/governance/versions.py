"""The versions of a governed row, one per change record, and what differs between any two of them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import QuerySet

from apps.governance.errors import Erased, NotVisible
from apps.governance.models import ChangeRecord, Governed

Values = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Version:
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


def version_of(record: ChangeRecord) -> Version:
    """The version that a change left."""
    text = getattr(record, "text", None)
    return Version(
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


def record_named(subject_type: str, subject_id: int, number: int) -> ChangeRecord:
    """The record that left this version; refused where the row never had it."""
    record = records_of(subject_type, subject_id).filter(version_after=number).first() if number > 0 else None
    if record is None:
        raise NotVisible(
            f"There is no version {number} of {subject_type} {subject_id}. Choose one from its list of versions."
        )
    return record


def versions_named(row: Governed, numbers: Iterable[int]) -> list[Version]:
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


def difference(before: Version, after: Version) -> tuple[FieldDifference, ...]:
    """The fields that differ, in the order of their names. Erased words cannot be compared, and nobody guesses."""
    for version in (before, after):
        if version.values is None:
            raise Erased(f"The words of version {version.number} were erased. Compare two other versions.")
    old, new = before.values or {}, after.values or {}
    return tuple(
        FieldDifference(name, old.get(name), new.get(name))
        for name in sorted({*old, *new})
        if old.get(name) != new.get(name)
    )
