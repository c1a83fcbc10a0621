"""What rows were at a moment, and who wrote each field, read from the change records (R031, R062)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from django.db import connection

from apps.governance.actors import PEOPLE
from apps.governance.models import ChangeText, Governed

Row = TypeVar("Row", bound=Governed)
Field = tuple[str, int, str]


@dataclass(frozen=True, slots=True)
class Stamp:
    """Who last wrote a field, in which version; `approver` is the person who did or let it, if one did."""

    version: int
    author: str
    approver: str
    taint: str


def rows_at(model: type[Row], moment: datetime, tenant_id: int, **equal: int | str | None) -> list[Row]:
    """The rows whose recorded values equal these, unsaved, as they stood; rows that were gone by then are not among them.

    A field that is younger than the record has its default. Whoever calls acts as somebody who may read the records.
    """
    latest = (
        ChangeText.objects.filter(
            tenant_id=tenant_id, record__subject_type=model._meta.label_lower, record__at__lte=moment
        )
        .order_by("record__subject_id", "-record_id")
        .distinct("record__subject_id")
        .select_related("record")
    )
    texts = [
        text for text in latest if text.after and all(text.after.get(name) == value for name, value in equal.items())
    ]
    return [_row(model, text) for text in texts]


def _row(model: type[Row], text: ChangeText) -> Row:
    known = {field.attname: field for field in model._meta.concrete_fields}
    values = {name: known[name].to_python(value) for name, value in text.after.items() if name in known}
    return model(pk=text.record.subject_id, version=text.record.version_after, **values)


def stamps(rows: Iterable[Governed], tenant_id: int, moment: datetime | None = None) -> Mapping[Field, Stamp]:
    """For each field of these rows the change that last wrote it, until `moment`; a field nobody wrote has none."""
    subjects = [(row._meta.label_lower, int(row.pk)) for row in rows]
    if not subjects:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT DISTINCT ON (record.subject_type, record.subject_id, field.key)
                   record.subject_type, record.subject_id, field.key,
                   record.version_after, record.actor_label, record.actor_role, record.taint
              FROM governance_changerecord AS record
              JOIN governance_changetext AS text ON text.record_id = record.id AND text.tenant_id = record.tenant_id,
                   LATERAL jsonb_each(text.after) AS field
             WHERE record.tenant_id = %s
               AND (record.subject_type, record.subject_id) IN (SELECT * FROM unnest(%s::text[], %s::bigint[]))
               AND (%s::timestamptz IS NULL OR record.at <= %s::timestamptz)
               AND field.value IS DISTINCT FROM text.before -> field.key
             ORDER BY record.subject_type, record.subject_id, field.key, record.id DESC
            """,
            [tenant_id, [kind for kind, _ in subjects], [pk for _, pk in subjects], moment, moment],
        )
        return {(kind, pk, key): _stamp(*rest) for kind, pk, key, *rest in cursor.fetchall()}


def _stamp(version: int, author: str, role: str, taint: str) -> Stamp:
    return Stamp(version, author, author if role in PEOPLE else "", taint)
