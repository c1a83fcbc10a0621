"""Lessons: what agents' work showed to be wrong, how often, and in which drafts, questions, turns and proposals."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from django.contrib import admin
from django.http import HttpRequest
from django.utils import timezone

from apps.console.desk_page import excerpt
from apps.console.governed_admin import GovernedAdmin
from apps.console.history import url_of_subject
from apps.console.panels import Panels
from apps.console.titles import moment
from apps.lessons.models import Lesson, LessonCase
from apps.lessons.rules import LessonSource, is_faded

CASES_SHOWN: Final = 50
_PAGES: Final = {
    LessonSource.EDITED_DRAFT: "desk.draft",
    LessonSource.DISCARDED_DRAFT: "desk.draft",
    LessonSource.ANSWERED_ESCALATION: "desk.escalation",
    LessonSource.REJECTED_PROPOSAL: "governance.proposal",
}


@dataclass(frozen=True, slots=True)
class Shown:
    """A case with the page that shows it whole."""

    case: LessonCase
    url: str
    conversation_url: str


def lesson_panels(lesson: Any, request: HttpRequest) -> dict[str, Any]:
    """Its cases, the latest first."""
    del request
    return {"cases": list(_cases(lesson)), "shown": CASES_SHOWN, "standing": standing_of(lesson)}


def _cases(lesson: Lesson) -> Iterator[Shown]:
    for case in lesson.cases.all()[:CASES_SHOWN]:
        page = _PAGES.get(LessonSource(case.source))
        thread = case.conversation_id
        yield Shown(
            case,
            url_of_subject(page, case.source_id) if page else "",
            url_of_subject("conversations.conversation", thread) if thread else "",
        )


def standing_of(lesson: Lesson) -> str:
    """Where it is on its way, in words."""
    if lesson.digested_in_id is not None:
        return "folded into a version"
    if lesson.is_promotable:
        return "passes the gate"
    return "faded: no second case came" if is_faded(lesson.value, timezone.now()) else "waits for a second case"


class LessonAdmin(GovernedAdmin):
    """Read-only: the best supported first."""

    list_display = ("about", "do_instead", "agent", "support_count", "sureness", "source", "standing", "last_seen")
    list_display_links = ("about",)
    list_filter = ("source", "agent")
    list_select_related = ("agent",)
    search_fields = ("situation", "went_wrong", "instead")
    search_help_text = "Search lessons"
    empty = (
        "No lesson yet. They come from drafts that were edited or discarded, questions that were answered, turns that gave no"
        " answer, and proposals that were rejected."
    )
    fields = ()
    change_form_template = "console/lesson.html"
    panels = Panels(lesson_panels)

    @admin.display(description="Situation")
    def about(self, lesson: Lesson) -> str:
        return excerpt(lesson.situation)

    @admin.display(description="What to do instead")
    def do_instead(self, lesson: Lesson) -> str:
        return excerpt(lesson.instead) or "nobody said yet"

    @admin.display(description="Sure", ordering="confidence")
    def sureness(self, lesson: Lesson) -> str:
        return f"{lesson.confidence:.0%}"

    @admin.display(description="Where it is")
    def standing(self, lesson: Lesson) -> str:
        return standing_of(lesson)

    @admin.display(description="Last seen", ordering="last_seen_at")
    def last_seen(self, lesson: Lesson) -> str:
        return moment(lesson.last_seen_at)
