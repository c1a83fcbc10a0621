"""What one settled case tells."""

import pytest

from apps.learning.lessons.lesson_cases import (
    AGENT_FAILURE_CODES,
    LESSON_TEXT_CHARACTERS,
    SITUATION_CHARACTERS,
    LessonText,
    NoLesson,
    lesson_from_discarded_draft,
    lesson_from_edited_draft,
    lesson_from_escalation,
    lesson_from_failed_turn,
    lesson_from_rejected_version,
    lesson_from_rejection,
    mask_case,
)

pytestmark = [pytest.mark.pure, pytest.mark.kernel]


def test_an_edited_draft_keeps_both_words() -> None:
    # R163
    assert lesson_from_edited_draft("Where?", "Soon.", "Tomorrow.") == LessonText("Where?", "Soon.", "Tomorrow.")
    assert isinstance(lesson_from_edited_draft("Where?", "Soon.", " soon. "), NoLesson)


def test_a_discarded_draft_and_an_answer_keep_a_persons_words() -> None:
    assert lesson_from_discarded_draft("Where?", "Soon.", "Wrong", "Look it up.") == LessonText(
        "Where?", "Wrong: Soon.", "Look it up."
    )
    lesson_text = lesson_from_escalation("May I?", "May they?", "Yes.")
    assert lesson_text == LessonText("May I?", "The agent could not settle this by itself: May they?", "Yes.")


@pytest.mark.parametrize("code", sorted(AGENT_FAILURE_CODES))
def test_a_turn_teaches_only_what_the_agent_failed_at(code: str) -> None:
    # R138
    assert lesson_from_failed_turn("May I?", code, "It stopped.") == LessonText(
        "May I?", "The agent gave no answer. It stopped."
    )
    assert isinstance(lesson_from_failed_turn("May I?", "bad_request", "It stopped."), NoLesson)


def test_a_rejection_teaches_by_the_words_of_the_reason() -> None:
    lesson_text = lesson_from_rejection("New skill", "For refunds", "", "There is one.")
    assert lesson_text == LessonText("The agent proposed: New skill. For refunds", "Rejected.", "There is one.")
    assert isinstance(lesson_from_rejection("New skill", "For refunds", "Wrong", " "), NoLesson)


def test_a_version_that_was_turned_down_tells_why_if_somebody_said_it() -> None:
    lesson_text = lesson_from_rejected_version("Promises a date.", "Only finance knows the date.")
    assert lesson_text == LessonText(
        "What the agent learns from corrections.", "It would learn: Promises a date.", "Only finance knows the date."
    )
    assert isinstance(lesson_from_rejected_version("Promises a date.", " "), NoLesson)


def test_what_is_kept_is_masked_while_it_is_whole() -> None:
    # R115
    long = "a " * LESSON_TEXT_CHARACTERS
    masked_lesson = mask_case(LessonText(f"Mia\n asks {long}", long, "Mia"), lambda text: text.replace("Mia", "[name]"))
    assert isinstance(masked_lesson, LessonText)
    assert masked_lesson.situation.startswith("[name] asks a")
    assert (len(masked_lesson.situation), len(masked_lesson.problem), masked_lesson.correction) == (
        SITUATION_CHARACTERS,
        LESSON_TEXT_CHARACTERS,
        "[name]",
    )
    untaught = NoLesson("No.")
    assert mask_case(untaught, str.upper) is untaught
    assert isinstance(mask_case(LessonText(" ", "x"), str), NoLesson)
