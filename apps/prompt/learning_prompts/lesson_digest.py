"""The message to the digest model: the current list, lessons and corrections, each as one line of data."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from apps.prompt.rendering.data_fences import Json, fence_lines
from apps.prompt.sanitizer.clean import sanitize
from apps.prompt.text_limits import TRANSCRIPT_LINE_CHARACTERS


@dataclass(frozen=True, slots=True)
class DigestLesson:
    """One lesson, with the number under which the answer cites it."""

    lesson_id: int
    situation: str
    problem: str
    correction: str
    cases: int


@dataclass(frozen=True, slots=True)
class DigestCorrection:
    """A draft, and the text that a person sent instead."""

    draft: str
    sent: str


def digest_message(
    bullets: Sequence[str], lessons: Sequence[DigestLesson], corrections: Sequence[DigestCorrection]
) -> str:
    """Return the material as data, in one fence with one JSON object per line."""
    return f"# Material\n\n{fence_lines(list(_lines(bullets, lessons, corrections)))}"


def _lines(
    bullets: Sequence[str], lessons: Sequence[DigestLesson], corrections: Sequence[DigestCorrection]
) -> Iterator[Mapping[str, Json]]:
    for bullet in bullets:
        yield {"kind": "active", "bullet": _clean(bullet)}
    for each in lessons:
        fields = {"situation": each.situation, "went_wrong": each.problem, "instead": each.correction}
        clean_fields = {name: _clean(text) for name, text in fields.items() if text}
        yield {"kind": "lesson", "id": each.lesson_id, **clean_fields, "cases": each.cases}
    for pair in corrections:
        yield {"kind": "correction", "draft": _clean(pair.draft), "sent": _clean(pair.sent)}


def _clean(text: str) -> str:
    return sanitize(text, TRANSCRIPT_LINE_CHARACTERS).text
