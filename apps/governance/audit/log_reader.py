"""Streaming reads of a tenant's audit log, and its verification. The caller must already act for the tenant."""

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Any, Final

from django.db import connection
from django.db.models import JSONField, Model

from apps.governance.audit.hash_chain import (
    ChainEntry,
    ChainFinding,
    ChainVerification,
    TamperKind,
    Values,
    database_text,
    verify_chain,
)
from apps.governance.database.sql_files import load_query
from apps.governance.governed_write import text_sha256
from apps.governance.models import AuditCheck, AuditLink, ChangeRecord, ChangeText, Refusal

ROWS_PER_FETCH = 2000
_CHAIN_QUERY: Final = """
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
# Entries without a link, and texts without a record.
_FIND_UNLINKED_ENTRIES: Final = load_query("apps/governance/audit/queries/find_unlinked_entries.sql")
_AUDIT_MODELS: Final[dict[str, type[Model]]] = {
    "link": AuditLink,
    "record": ChangeRecord,
    "words": ChangeText,
    "refusal": Refusal,
}


def chain_entries(
    tenant_id: int, since: datetime | None = None, until: datetime | None = None
) -> Iterator[tuple[ChainEntry, Values | None]]:
    """Yield each link of the tenant's chain in order, with its entry and the columns of a change's text (else None)."""
    statement = _CHAIN_QUERY.format(columns=", ".join(part for book in _AUDIT_MODELS for part in _select_columns(book)))
    _disable_nested_loops()
    with connection.chunked_cursor() as cursor:
        cursor.execute(statement, [tenant_id, since, since, until, until])
        while rows := cursor.fetchmany(ROWS_PER_FETCH):
            for row in rows:
                yield _parse_chain_row(row)


def unlinked_entries(tenant_id: int) -> Iterator[ChainFinding]:
    """Yield a finding for each row of the audit log that the chain does not link."""
    _disable_nested_loops()
    with connection.cursor() as cursor:
        cursor.execute(_FIND_UNLINKED_ENTRIES, {"tenant": tenant_id})
        for book, row_id, detail in cursor.fetchall():
            yield ChainFinding(TamperKind.INSERTED, f"{book} {row_id}", detail)


def _disable_nested_loops() -> None:
    # With outdated statistics the planner expects only a few rows per tenant, and would choose a nested loop that reads all of
    # them once for each link.
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('enable_nestloop', 'off', true)")


def verify_audit_log(tenant_id: int, anchors: Mapping[int, Sequence[str]]) -> ChainVerification:
    """Recompute every hash of the tenant's audit log, and record the verification."""
    verified = verify_chain((linked for linked, _ in chain_entries(tenant_id)), anchors)
    verified.findings += unlinked_entries(tenant_id)
    record_verification(tenant_id, verified)
    return verified


def export_line(linked: ChainEntry, words: Values | None) -> str:
    """Return one entry as a line of JSON for the export. With all lines, a reader can recompute every hash."""
    line: dict[str, Any] = {"link": dict(linked.link), "entry": dict(linked.entry) if linked.entry else None}
    if words is not None:
        parsed = {name: json.loads(words[name]) for name in ("before", "after")}
        line["text"] = {"salt": words["salt"], **parsed, "reason": words["reason"]}
    return json.dumps(line, default=database_text, ensure_ascii=False)


def record_verification(tenant_id: int, verified: ChainVerification) -> AuditCheck:
    """Record that the audit log was verified, with the result."""
    return AuditCheck.objects.create(
        tenant_id=tenant_id,
        position=verified.position,
        sha256=verified.sha256,
        finding_count=len(verified.findings),
    )


@cache
def column_names(book: str) -> tuple[str, ...]:
    """Return the column names of an audit table. The hash of a row covers all of them."""
    return tuple(str(field.column) for field in _AUDIT_MODELS[book]._meta.concrete_fields)


@cache
def _select_columns(book: str) -> tuple[str, ...]:
    # The hash was computed from the JSON text as the database writes it.
    json_columns = {field.column for field in _AUDIT_MODELS[book]._meta.concrete_fields if isinstance(field, JSONField)}
    return tuple(f"{book}.{name}::text" if name in json_columns else f"{book}.{name}" for name in column_names(book))


def _parse_chain_row(row: Sequence[Any]) -> tuple[ChainEntry, Values | None]:
    parts: dict[str, dict[str, Any] | None] = {}
    start = 0
    for book in _AUDIT_MODELS:
        values = dict(zip(column_names(book), row[start:], strict=False))
        start += len(values)
        parts[book] = values if values["id"] is not None else None
    link, words = parts["link"] or {}, parts["words"]
    entry = parts["record"] if link["entry_type"] == AuditLink.EntryType.CHANGE else parts["refusal"]
    return ChainEntry(link, entry, _is_text_sound(entry, words)), words


def _is_text_sound(entry: Values | None, words: Values | None) -> bool | None:
    if entry is None or words is None:
        return None
    before, after = json.loads(words["before"]), json.loads(words["after"])
    return text_sha256(words["salt"], before, after, words["reason"]) == str(entry["text_sha256"])
