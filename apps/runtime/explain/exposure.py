"""Exposure of a row: the sessions whose frozen prompt contained its text, in which versions, and counts of recent sessions.

The sessions are found by the owners that are recorded for the bytes of each prompt.
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

# The number of a row's sessions that are listed, the latest first. The count includes all sessions.
SESSIONS_NAMED = 20
# PostgreSQL's largest integer, to read all parts.
NO_LIMIT: Final = 2**31 - 1

Owner = tuple[str, int, int]

_PARTS_QUERY: Final = "SELECT part_id, versions FROM find_parts_with_record(%(kind)s, %(record)s, %(most)s)"


def sessions_carrying(owners: Iterable[Owner], *, actor: Actor) -> list[int]:
    """The ids of sessions, newest first, whose prompt contained one of these rows in the given version or a later one."""
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
    """The latest prompt parts with text of a row, each with the row's versions. The caller acts as a person or the system."""
    with connection.cursor() as cursor:
        cursor.execute(_PARTS_QUERY, {"kind": kind, "record": record_id, "most": most})
        return {int(part): tuple(map(int, versions)) for part, versions in cursor.fetchall()}


# The models whose texts appear in prompts and whose exposure people look up.
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
    """A session whose prompt contained the row, with the versions of the row in that prompt."""

    session_id: int
    conversation: Conversation
    at: datetime
    versions: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Exposure:
    """The latest sessions whose prompt contained a row, and counts for the last 30 days, which stop at `MAX_COUNTED`.

    `is_truncated` is true if there were so many different prompts that only the latest were searched.
    """

    carriers: tuple[CarrierSession, ...]
    recent_sessions: int
    recent_conversations: int
    versions: tuple[int, ...]
    has_more: bool
    is_truncated: bool


# Session id, conversation id, time, part id, and whether the session is excluded from the counts.
ExposureRow = tuple[int, int, datetime, int, bool]


def exposure_of(row: Governed, *, actor: Actor, now: datetime, version: int | None = None, line: str = "") -> Exposure:
    """The exposure of a row, of one version of the row, or of one line, which is matched by its exact text."""
    if actor.role is Role.AGENT:
        raise NotPermitted("Only people may read the exposure of a row. An agent's token gives no access.")
    with acting_as(actor):
        if isinstance(row, LearningVersion):
            # The text of a learning version never changes, and the prompt carries only its first bullets.
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
    """Count each session once, even if several of its parts or turns contained the row. Excluded sessions do not count."""
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
    """The ids of the parts that contain exactly this line of the row."""
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
