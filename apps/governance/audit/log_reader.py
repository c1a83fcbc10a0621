"""A tenant's books as they stand in the tables, read as a stream: whoever calls acts for the tenant."""

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Any, Final

from django.db import connection
from django.db.models import JSONField, Model

from apps.governance.audit.hash_chain import Finding, Linked, TamperKind, Values, Verified, as_stored, verify
from apps.governance.governed_write import text_sha256
from apps.governance.models import AuditCheck, AuditLink, ChangeRecord, ChangeText, Refusal

ROWS = 2000
_CHAIN: Final = """
SELECT {columns}
  FROM governance_auditlink AS link
  LEFT JOIN governance_changerecord AS record
    ON link.entry_type = 'change' AND record.id = link.entry_id AND record.tenant_id = link.tenant_id
  LEFT JOIN governance_changetext AS words ON words.record_id = record.id AND words.tenant_id = record.tenant_id
  LEFT JOIN governance_refusal AS refusal
    ON link.entry_type = 'refusal' AND refusal.id = link.entry_id AND refusal.tenant_id = link.tenant_id
 WHERE link.tenant_id = %s
   AND (%s::timestamptz IS NULL OR link.created_at >= %s::timestamptz)
   AND (%s::timestamptz IS NULL OR link.created_at < %s::timestamptz)
 ORDER BY link.position, link.id
"""
# What stands beside the chain: entries without a link, words without a record.
_BESIDE: Final = """
SELECT 'change record', record.id, 'It has no link.' FROM governance_changerecord AS record
 WHERE record.tenant_id = %s AND NOT EXISTS (SELECT 1 FROM governance_auditlink AS link
       WHERE link.tenant_id = record.tenant_id AND link.entry_type = 'change' AND link.entry_id = record.id)
UNION ALL
SELECT 'refusal', refusal.id, 'It has no link.' FROM governance_refusal AS refusal
 WHERE refusal.tenant_id = %s AND NOT EXISTS (SELECT 1 FROM governance_auditlink AS link
       WHERE link.tenant_id = refusal.tenant_id AND link.entry_type = 'refusal' AND link.entry_id = refusal.id)
UNION ALL
SELECT 'words of change record', words.record_id, 'There is no such record in this tenant.'
  FROM governance_changetext AS words
 WHERE words.tenant_id = %s AND NOT EXISTS (SELECT 1 FROM governance_changerecord AS record
       WHERE record.tenant_id = words.tenant_id AND record.id = words.record_id)
 ORDER BY 1, 2
"""
_BOOKS: Final[dict[str, type[Model]]] = {
    "link": AuditLink,
    "record": ChangeRecord,
    "words": ChangeText,
    "refusal": Refusal,
}


def linked_entries(
    tenant_id: int, since: datetime | None = None, until: datetime | None = None
) -> Iterator[tuple[Linked, Values | None]]:
    """Each link of the tenant in order with its entry, and the words of a change."""
    statement = _CHAIN.format(columns=", ".join(part for book in _BOOKS for part in _columns(book)))
    _join_whole_tables()
    with connection.chunked_cursor() as cursor:
        cursor.execute(statement, [tenant_id, since, since, until, until])
        while rows := cursor.fetchmany(ROWS):
            for row in rows:
                yield _linked(row)


def entries_beside(tenant_id: int) -> Iterator[Finding]:
    """What stands in the books and not in the chain."""
    _join_whole_tables()
    with connection.cursor() as cursor:
        cursor.execute(_BESIDE, [tenant_id] * 3)
        for book, row_id, detail in cursor.fetchall():
            yield Finding(TamperKind.INSERTED, f"{book} {row_id}", detail)


def _join_whole_tables() -> None:
    # Where statistics are old, the planner takes a tenant for a few rows and reads all of them once for each link.
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('enable_nestloop', 'off', true)")


def verify_books(tenant_id: int, anchors: Mapping[int, Sequence[str]]) -> Verified:
    """Compute every hash of the tenant's books anew, and note in them that it was done."""
    verified = verify((linked for linked, _ in linked_entries(tenant_id)), anchors)
    verified.findings += entries_beside(tenant_id)
    keep_check(tenant_id, verified)
    return verified


def line_of(linked: Linked, words: Values | None) -> str:
    """An entry as books are handed out: whoever gets the lines can compute every hash again."""
    line: dict[str, Any] = {"link": dict(linked.link), "entry": dict(linked.entry) if linked.entry else None}
    if words is not None:
        parsed = {name: json.loads(words[name]) for name in ("before", "after")}
        line["text"] = {"salt": words["salt"], **parsed, "reason": words["reason"]}
    return json.dumps(line, default=as_stored, ensure_ascii=False)


def keep_check(tenant_id: int, verified: Verified) -> AuditCheck:
    """Note in the books that they were verified."""
    return AuditCheck.objects.create(
        tenant_id=tenant_id,
        position=verified.position,
        sha256=verified.sha256,
        finding_count=len(verified.findings),
    )


@cache
def names(book: str) -> tuple[str, ...]:
    """The columns of a book, of which a hash covers every one."""
    return tuple(str(field.column) for field in _BOOKS[book]._meta.concrete_fields)


@cache
def _columns(book: str) -> tuple[str, ...]:
    # JSON as the database writes it, of which the hash was made.
    json_columns = {field.column for field in _BOOKS[book]._meta.concrete_fields if isinstance(field, JSONField)}
    return tuple(f"{book}.{name}::text" if name in json_columns else f"{book}.{name}" for name in names(book))


def _linked(row: Sequence[Any]) -> tuple[Linked, Values | None]:
    parts: dict[str, dict[str, Any] | None] = {}
    start = 0
    for book in _BOOKS:
        values = dict(zip(names(book), row[start:], strict=False))
        start += len(values)
        parts[book] = values if values["id"] is not None else None
    link, words = parts["link"] or {}, parts["words"]
    entry = parts["record"] if link["entry_type"] == AuditLink.EntryType.CHANGE else parts["refusal"]
    return Linked(link, entry, _is_sound(entry, words)), words


def _is_sound(entry: Values | None, words: Values | None) -> bool | None:
    if entry is None or words is None:
        return None
    before, after = json.loads(words["before"]), json.loads(words["after"])
    return text_sha256(words["salt"], before, after, words["reason"]) == str(entry["text_sha256"])
