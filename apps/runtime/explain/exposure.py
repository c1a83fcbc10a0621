"""Exposure of a row: which sessions carried it in their frozen prompt, in which version, and how many did lately.

The sessions are found by the owners of the prompt's bytes.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from django.db import connection

from apps.conversations.models import Conversation
from apps.governance.actors import Actor, Role
from apps.governance.database.actor_transaction import acting_as
from apps.governance.database.sql_files import load_query
from apps.governance.errors import NotPermitted
from apps.governance.models.base import Governed
from apps.learning.lessons.models import LearningVersion
from apps.learning.lessons.rules import render_summary
from apps.memory.models import AgentMemory, CustomerProfile, MemoryBlock, MemoryTier
from apps.personas.models import IdentityCard, Persona, PersonaOverlay, StandingRule
from apps.prompt.memory_lines.line_diff import distinct_lines, strip_line
from apps.prompt.prompt_input import Slot
from apps.prompt.rendering.segments import SegmentMismatch, decode_segments
from apps.runtime.explain.skill_reads import unescape_segment
from apps.runtime.models import SessionPart, SnapshotPart
from apps.skills.models import Skill

# Of each row, the latest sessions; the count is of all.
SESSIONS_NAMED = 20
# An integer of PostgreSQL, for who wants all of them.
NO_LIMIT: Final = 2**31 - 1

Owner = tuple[str, int, int]

_PARTS_QUERY: Final = "SELECT part_id, versions FROM find_parts_with_record(%(kind)s, %(record)s, %(most)s)"


def sessions_carrying(owners: Iterable[Owner], *, actor: Actor) -> list[int]:
    """The sessions, newest first, that carried any of these rows in the version named or a later one."""
    with acting_as(actor):
        parts = {
            part
            for kind, pk, since in owners
            for part, versions in parts_carrying(kind, pk, NO_LIMIT).items()
            if max(versions) >= since
        }
        places = SessionPart.objects.filter(tenant_id=actor.tenant_id, part_id__in=sorted(parts))
        return list(places.order_by("-session_id").values_list("session_id", flat=True).distinct())


def parts_carrying(kind: str, record_id: int, most: int) -> Mapping[int, Collection[int]]:
    """The latest parts with words of a row, and the versions these are of. Whoever calls acts as a person or the house."""
    with connection.cursor() as cursor:
        cursor.execute(_PARTS_QUERY, {"kind": kind, "record": record_id, "most": most})
        return {int(part): tuple(map(int, versions)) for part, versions in cursor.fetchall()}


# What of the prompt is a person's or an agent's, and is asked about.
EXPOSED_MODELS: Final[tuple[type[Governed], ...]] = (
    *(Persona, PersonaOverlay, IdentityCard, StandingRule, Skill, AgentMemory, MemoryBlock, MemoryTier),
    *(CustomerProfile, LearningVersion),
)
MAX_PARTS_READ: Final = 100
MAX_COUNTED: Final = 1000
MAX_SHOWN: Final = 50
RECENT_PERIOD: Final = timedelta(days=30)

SESSIONS_QUERY: Final = load_query("apps/runtime/explain/queries/find_sessions_with_parts.sql")
TURNS_QUERY: Final = load_query("apps/runtime/explain/queries/find_turns_with_learning.sql")


@dataclass(frozen=True, slots=True)
class CarrierSession:
    """One session that carried the row, with the versions its words are of."""

    session_id: int
    conversation: Conversation
    at: datetime
    versions: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Exposure:
    """The latest carriers; the counts are of the last 30 days, and reach `MAX_COUNTED` where there were more.

    `is_truncated` says that of very many different prompts only the latest were looked through.
    """

    carriers: tuple[CarrierSession, ...]
    recent_sessions: int
    recent_conversations: int
    versions: tuple[int, ...]
    has_more: bool
    is_truncated: bool


# The session, its conversation, when, the part, and whether it is nothing to be shown.
ExposureRow = tuple[int, int, datetime, int, bool]


def exposure_of(row: Governed, *, actor: Actor, now: datetime, version: int | None = None, line: str = "") -> Exposure:
    """Of the row, of one version of it, or of one line, told apart by its very words."""
    if actor.role is Role.AGENT:
        raise NotPermitted("Only people may read who was told something; an agent's token does not reach it.")
    with acting_as(actor):
        if isinstance(row, LearningVersion):
            # Its words never change, and of its bullets the first are told.
            is_told = not line or f"- {strip_line(line).lstrip('-* ')}" in distinct_lines(render_summary(row.body))
            found = _rows(TURNS_QUERY, {"record": row.pk, "most": MAX_COUNTED}) if is_told else []
            return _build_exposure(found, {0: (row.version,)}, actor, now, (row.version,), is_truncated=False)
        parts = parts_carrying(row._meta.label_lower, int(row.pk), MAX_PARTS_READ)
        versions = tuple(sorted({each for carried in parts.values() for each in carried}, reverse=True))
        chosen = {pk: carried for pk, carried in parts.items() if version is None or version in carried}
        if line:
            kept = set(_parts_with_line(chosen, row, version, strip_line(line)))
            chosen = {pk: carried for pk, carried in chosen.items() if pk in kept}
        found = _rows(SESSIONS_QUERY, {"parts": list(chosen), "most": MAX_COUNTED})
        return _build_exposure(found, chosen, actor, now, versions, is_truncated=len(parts) == MAX_PARTS_READ)


def _rows(statement: str, given: Mapping[str, Any]) -> list[ExposureRow]:  # Any: what psycopg adapts
    with connection.cursor() as cursor:
        cursor.execute(statement, given)
        return list(cursor.fetchall())


def _build_exposure(
    found: Sequence[ExposureRow],
    carried: Mapping[int, Collection[int]],
    actor: Actor,
    now: datetime,
    versions: tuple[int, ...],
    *,
    is_truncated: bool,
) -> Exposure:
    """A session that carried the row in two parts, or in several turns, is one; off the record, or a talk, it is none."""
    sessions: dict[int, tuple[int, datetime]] = {}
    of_session: dict[int, set[int]] = {}
    for session_id, conversation_id, at, part in (each[:4] for each in found if not each[4]):
        sessions.setdefault(session_id, (conversation_id, at))
        of_session.setdefault(session_id, set()).update(carried[part])
    shown = list(sessions.items())[:MAX_SHOWN]
    threads = Conversation.objects.visible_to(actor).select_related("agent")
    known_threads = threads.in_bulk({conversation_id for _, (conversation_id, _) in shown})
    lately = [conversation_id for conversation_id, at in sessions.values() if at > now - RECENT_PERIOD]
    carriers = tuple(
        CarrierSession(session_id, known_threads[thread], at, tuple(sorted(of_session[session_id])))
        for session_id, (thread, at) in shown
        if thread in known_threads
    )
    return Exposure(carriers, len(lately), len(set(lately)), versions, len(found) == MAX_COUNTED, is_truncated)


def _parts_with_line(parts: Collection[int], row: Governed, version: int | None, line: str) -> Iterator[int]:
    """The parts in which the row says exactly this line."""
    stored = SnapshotPart.objects.filter(tenant_id=row.tenant_id, pk__in=list(parts))
    for each in stored:
        if any(row_line == line for row_line in _lines_of_row(each, row, version)):
            yield each.pk


def _lines_of_row(stored: Any, row: Governed, version: int | None) -> Iterator[str]:
    try:
        part = decode_segments(Slot(stored.slot), stored.text, stored.segments)
    except SegmentMismatch:
        return
    for segment in part.segments:
        source = segment.source
        is_of_row = source and (source.record_type, source.record_id) == (row._meta.label_lower, row.pk)
        if source and is_of_row and version in {None, source.version}:
            yield strip_line(unescape_segment(segment.text).strip("\n"))
