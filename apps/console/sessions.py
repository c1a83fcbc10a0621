"""Sessions: the frozen prompt, slot by slot, exactly as the model was given it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from apps.console.governed_admin import GovernedAdmin
from apps.console.panels import Panels
from apps.console.titles import moment
from apps.prompt.values import Slot
from apps.prompt.wording import SLOT_TITLES
from apps.runtime.models import Session


@dataclass(frozen=True, slots=True)
class ShownPart:
    """One slot's text, with its size and hash."""

    slot: int
    title: str
    text: str
    sha256: str
    size: int


def session_panels(session: Any, request: HttpRequest) -> dict[str, Any]:
    """The parts in the order they are sent."""
    del request
    return {"parts": list(_parts(session)), "turn_count": session.turns.count()}


def _parts(session: Session) -> Iterator[ShownPart]:
    for place in session.parts.select_related("part"):
        part = place.part
        title = SLOT_TITLES.get(Slot(part.slot), Slot(part.slot).name.capitalize())
        yield ShownPart(part.slot, title, part.text, part.sha256, len(part.text.encode()))


class SessionAdmin(GovernedAdmin):
    """Read-only: a session is never changed."""

    list_display = ("__str__", "conversation", "agent", "frozen")
    list_filter = ("agent",)
    list_select_related = ("agent", "conversation")
    search_fields = ("prefix_sha256", "conversation__conversation_key")
    search_help_text = "Search hash or thread"
    empty = "No session yet. The first message of a conversation opens one."
    fields = ()
    change_form_template = "console/session.html"
    panels = Panels(session_panels)

    @admin.display(description="Frozen", ordering="snapshot_at")
    def frozen(self, session: Session) -> str:
        return moment(session.snapshot_at)
