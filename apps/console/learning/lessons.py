"""Lessons: mistakes that agents' work showed, with their cases; a person keeps a corrected draft as an example here."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Final

from django.contrib import admin
from django.http import HttpRequest
from django.utils import timezone

from apps.console.framework.forms import DecisionForm, VerbatimTextField
from apps.console.framework.governed_admin import GovernedAdmin
from apps.console.framework.list_columns import column, excerpt_column, moment_column
from apps.console.framework.page_actions import Button, PanelReader
from apps.console.framework.row_urls import url_of_subject
from apps.governance.actors import Actor
from apps.governance.policy.policy_table import Act
from apps.learning.lessons.example_bank import add_lesson_example, example_texts_of, is_correction
from apps.learning.lessons.lesson_cases import LESSON_TEXT_CHARACTERS, SITUATION_CHARACTERS
from apps.learning.lessons.models import Example, Lesson, LessonCase
from apps.learning.lessons.rules import LessonSource, is_faded

CASES_SHOWN: Final = 50
_SOURCE_PAGES: Final = {
    LessonSource.EDITED_DRAFT: "desk.draft",
    LessonSource.DISCARDED_DRAFT: "desk.draft",
    LessonSource.ANSWERED_ESCALATION: "desk.escalation",
    LessonSource.REJECTED_PROPOSAL: "governance.proposal",
    LessonSource.REJECTED_VERSION: "learning.learningversion",
    LessonSource.REPORTED_REPLY: "desk.report",
}


class KeepExampleForm(DecisionForm):
    """The texts of an example; they begin with the lesson's, and the person may change them."""

    situation = VerbatimTextField(label="What was asked", max_length=SITUATION_CHARACTERS)
    draft = VerbatimTextField(label="The draft that was wrong", max_length=LESSON_TEXT_CHARACTERS)
    correction = VerbatimTextField(
        label="What to write instead",
        max_length=LESSON_TEXT_CHARACTERS,
        help_text="What identifies somebody is masked once more when you keep it. A name nobody told may stay: look for it.",
    )


@dataclass(frozen=True, slots=True)
class LessonCaseRow:
    """A case, and the page that shows all of it."""

    case: LessonCase
    url: str
    conversation_url: str


def lesson_panels(lesson: Any, request: HttpRequest) -> dict[str, Any]:
    """Return the cases, the latest first, the state of the lesson, and its example."""
    return {
        "cases": list(_cases(lesson)),
        "shown": CASES_SHOWN,
        "standing": lesson_state(lesson),
        "example": _example_of(lesson),
    }


def _cases(lesson: Lesson) -> Iterator[LessonCaseRow]:
    for case in lesson.cases.all()[:CASES_SHOWN]:
        page = _SOURCE_PAGES.get(LessonSource(case.source))
        thread = case.conversation_id
        yield LessonCaseRow(
            case,
            url_of_subject(page, case.source_id) if page else "",
            url_of_subject("conversations.conversation", thread) if thread else "",
        )


def lesson_state(lesson: Lesson) -> str:
    """Return in words how far the lesson is on its way into a version."""
    if lesson.learning_version_id is not None:
        return "folded into a version"
    if lesson.is_promotable:
        return "passes the gate"
    return "faded: no second case came" if is_faded(lesson.value, timezone.now()) else "waits for a second case"


def masked_summary(example: Example) -> str:
    """Return how often each kind of personal data was masked, in words; empty if nothing was."""
    return ", ".join(f"{kind} {count}" for kind, count in example.masked_counts.items())


def _can_be_kept(lesson: Any) -> bool:
    return is_correction(lesson) and _example_of(lesson) is None


def _example_of(lesson: Any) -> Example | None:
    # The panel and the button both ask for it; it is looked up once.
    if not hasattr(lesson, "kept_example"):
        lesson.kept_example = lesson.examples.filter(status=Example.Status.APPROVED).first()
    example: Example | None = lesson.kept_example
    return example


def _keep(lesson: Lesson, *, actor: Actor, **words: str) -> Example:
    return add_lesson_example(lesson, actor=actor, words=words)


def _kept_message(example: Example) -> str:
    masked = masked_summary(example)
    return f"Kept as example {example.pk}. " + (f"Masked before: {masked}." if masked else "Nothing had to be masked.")


class LessonAdmin(GovernedAdmin):
    """Read-only lessons; those with the most support come first."""

    list_display = ("about", "do_instead", "agent", "support_count", "sureness", "source", "standing", "last_seen")
    list_display_links = ("about",)
    list_filter = ("source", "agent")
    list_select_related = ("agent",)
    search_fields = ("situation", "problem", "correction")
    search_help_text = "Search lessons"
    empty = (
        "No lesson yet. They come from drafts that were edited or discarded, questions that were answered, turns that gave no"
        " answer, proposals that were rejected, and replies that were reported as wrong."
    )
    fields = ()
    change_form_template = "console/learning/lesson.html"
    panels = PanelReader(lesson_panels)
    buttons = (
        Button(
            "keep",
            "Keep as an example",
            Act.EXAMPLE_ADD,
            _keep,
            takes_read_at=False,
            done=_kept_message,
            consequence="Where the page of the agent says that it is shown examples, it may read these words as data with any"
            " customer, from the next turn on.",
            form=KeepExampleForm,
            initial=lambda lesson: asdict(example_texts_of(lesson)),
            when=_can_be_kept,
            on_others=True,
        ),
    )

    about = excerpt_column("Situation", "situation")
    do_instead = excerpt_column("What to do instead", "correction", missing="nobody said yet")
    standing = column("Where it is", lesson_state)
    last_seen = moment_column("Last seen", "last_seen_at")

    @admin.display(description="Sure", ordering="confidence")
    def sureness(self, lesson: Lesson) -> str:
        return f"{lesson.confidence:.0%}"
