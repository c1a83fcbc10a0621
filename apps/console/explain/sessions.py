"""Sessions: the frozen prompt, slot by slot, exactly as the model received it."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from django.db.models import Q
from django.http import HttpRequest

from apps.console.explain.cache_breakpoints import SlotMark, marked_calls, marks_by_slot, title_of_slot
from apps.console.framework.actor_names import people_of_tenant
from apps.console.framework.governed_admin import GovernedAdmin
from apps.console.framework.list_columns import moment_column
from apps.console.framework.page_actions import PanelReader
from apps.console.framework.request_context import actor_of
from apps.console.framework.row_urls import url_of_subject
from apps.console.framework.text_diffs import DiffPiece
from apps.llm.token_estimate import tokens_in_bytes
from apps.prompt.prompt_input import Slot, TextProvenance
from apps.prompt.rendering.segments import Segment, SegmentMismatch, SlotText, decode_segments
from apps.runtime.explain.turn_retrieval import TURNS_LISTED, retrievals_of_session
from apps.runtime.models import ModelCall, Session, SnapshotPart
from apps.runtime.prompt_snapshot.playground_proposal import PROPOSAL_TYPE

CALLS_SHOWN = 100
UNREADABLE = (
    "The owners of this text cannot be read: it is not what was frozen. Ask the administrator of"
    " the installation to look at it."
)


@dataclass(frozen=True, slots=True)
class TextOwner:
    """An owner of words in a slot, and the number of their bytes."""

    record: str
    version: int
    author: str
    approver: str
    taint: str
    size: int
    url: str = ""


@dataclass(frozen=True, slots=True)
class ShownPart:
    """One slot's text, with its size, hash and owners."""

    slot: int
    title: str
    text: str
    sha256: str
    size: int
    owners: tuple[TextOwner, ...]
    flaw: str
    # The text in pieces, with those of a pending proposal marked; set in the playground only.
    pieces: tuple[DiffPiece, ...] = ()
    # The cache marks that calls of the session set behind this slot; set on a session's page only.
    mark: SlotMark | None = None

    @property
    def tokens(self) -> int:
        """The number of tokens, estimated from the bytes."""
        return tokens_in_bytes(self.size)


def session_panels(session: Any, request: HttpRequest) -> dict[str, Any]:
    """Return the parts in the order they are sent, with their cache marks, and the model calls of the session."""
    calls = list(
        ModelCall.objects.filter(tenant_id=session.tenant_id, turn__session=session).order_by("id")[:CALLS_SHOWN]
    )
    parts = shown_parts(session)
    marks = marks_by_slot(calls, [Slot(part.slot) for part in parts])
    return {
        "parts": [replace(part, mark=marks[part.slot]) for part in parts],
        "turn_count": session.turns.count(),
        "read": retrievals_of_session(session),
        "turns_told": TURNS_LISTED,
        "calls": marked_calls(calls),
        "people": people_of_tenant(actor_of(request)),
    }


def shown_parts(session: Session) -> list[ShownPart]:
    """Return the parts slot by slot, the tools first."""
    parts = [place.part for place in session.parts.select_related("part")]
    tools = [session.tools] if session.tools else []
    return [_shown_part(part) for part in (*tools, *parts)]


def _shown_part(stored: SnapshotPart) -> ShownPart:
    slot = Slot(stored.slot)
    size = len(stored.text.encode())
    part, flaw = _decode_part(slot, stored)
    owners = tuple(_owners(part)) if part else ()
    pieces = tuple(_pieces(part)) if part else (DiffPiece(stored.text),)
    return ShownPart(slot.value, title_of_slot(slot), stored.text, stored.sha256, size, owners, flaw, pieces)


def _pieces(part: SlotText) -> Iterator[DiffPiece]:
    for is_proposed, run in groupby(part.segments, key=_is_proposed):
        yield DiffPiece("".join(segment.text for segment in run), is_proposed)


def _is_proposed(segment: Segment) -> bool:
    return segment.source is not None and segment.source.record_type == PROPOSAL_TYPE


def _decode_part(slot: Slot, stored: SnapshotPart) -> tuple[SlotText | None, str]:
    """Return the part with its owners, or why they cannot be read. Parts frozen before owners were recorded have none."""
    if stored.segments is None:
        return None, ""
    try:
        part = decode_segments(slot, stored.text, stored.segments)
    except SegmentMismatch:
        return None, UNREADABLE
    return (part, "") if part.sha256 == stored.sha256 else (None, UNREADABLE)


def _owners(part: SlotText) -> Iterator[TextOwner]:
    """Yield the owners by size, the largest first; the product's own words count as one owner."""
    sizes: Counter[TextProvenance | None] = Counter()
    for span in part.spans():
        sizes[span.segment.source] += span.end - span.start
    for source, size in sizes.most_common():
        if source is None:
            yield TextOwner("Preceptor's own words", 0, "", "", "", size)
        else:
            record = f"{source.record_type.partition('.')[2]} {source.record_id} {source.field}".strip()
            url = url_of_subject(source.record_type, source.record_id)
            yield TextOwner(record, source.version, source.author, source.approver, source.taint, size, url)


class SessionAdmin(GovernedAdmin):
    """Read-only: a session is never changed."""

    # Members' talks are left out of the list; they have pages of their own.
    only = Q(conversation__member_user_id=None)
    list_display = ("__str__", "conversation", "agent", "frozen")
    list_filter = ("agent",)
    list_select_related = ("agent", "conversation")
    search_fields = ("prefix_sha256", "conversation__conversation_key")
    search_help_text = "Search hash or thread"
    empty = "No session yet. The first message of a conversation opens one."
    fields = ()
    change_form_template = "console/explain/session.html"
    panels = PanelReader(session_panels)

    frozen = moment_column("Frozen", "snapshot_at")
