"""Lineage of a conversation: the rows that came of it and the sessions that carried them, for its page and the command."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from apps.console.framework.row_urls import url_of_subject
from apps.conversations.models import Conversation
from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.learning.extraction.models import Extraction
from apps.learning.lineage import Descendant, descendants
from apps.runtime.explain.exposure import SESSIONS_NAMED, sessions_carrying


@dataclass(frozen=True, slots=True)
class Lineage:
    """The verdict on a conversation, the rows it reached, and the sessions that carried any of them."""

    conversation: Conversation
    extraction: Extraction | None
    rows: tuple[Descendant, ...]
    sessions: tuple[int, ...]

    @property
    def named(self) -> tuple[int, ...]:
        """The latest of the sessions."""
        return self.sessions[:SESSIONS_NAMED]

    @property
    def can_be_quarantined(self) -> bool:
        """Whether any row can still be quarantined."""
        return any(row.can_be_quarantined for row in self.rows)

    def as_json(self) -> Mapping[str, Any]:
        """Return the lineage as JSON values."""
        return {
            "conversation_id": self.conversation.pk,
            "extraction": self.extraction.verdict if self.extraction else None,
            "rows": [
                {
                    "type": row.record_type,
                    "id": row.record_id,
                    "label": row.label,
                    "taint": row.taint,
                    "state": row.state,
                    "acts": list(row.acts),
                    "records": list(row.records),
                    "since_version": row.since_version,
                    "lines": list(row.lines),
                    "standing": list(row.standing),
                }
                for row in self.rows
            ],
            "session_ids": list(self.sessions),
        }


@dataclass(frozen=True, slots=True)
class LineageRow:
    """One row as the page shows it."""

    row: Descendant
    url: str


def lineage_of(conversation: Conversation, actor: Actor) -> Lineage:
    """Return the lineage of a conversation as it is now."""
    with acting_as(actor):
        rows = tuple(descendants(conversation, actor=actor))
        owners = [(row.record_type, row.record_id, row.since_version) for row in rows]
        extraction = Extraction.objects.filter(conversation=conversation).first()
        return Lineage(conversation, extraction, rows, tuple(sessions_carrying(owners, actor=actor)))


def lineage_rows(lineage: Lineage) -> list[LineageRow]:
    """Return the rows with the addresses of their pages."""
    return [LineageRow(row, url_of_subject(row.record_type, row.record_id) if row.row else "") for row in lineage.rows]
