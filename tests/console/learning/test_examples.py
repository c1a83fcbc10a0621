"""The pages of examples: kept from a lesson's page with what was masked, shown, retired, and off until wanted (Z-12)."""

import pytest
from django.test import Client

from apps.governance.database.actor_transaction import acting_as
from apps.learning.lessons.models import Example, Lesson
from tests.support.drivers.console_client import decide, list_of, page_of, page_words
from tests.support.factories.lessons import (
    DRAFT_TEXT,
    QUESTION,
    SENT_TEXT,
    enable_examples,
    make_answer_lesson,
    make_example,
    make_lesson,
)
from tests.support.worlds.world import World

pytestmark = pytest.mark.django_db
WORDS = {"read_at": 1, "situation": QUESTION, "draft": DRAFT_TEXT, "correction": SENT_TEXT}


def test_a_bank_without_examples_says_where_they_come_from(world: World, operator: Client) -> None:
    assert "Open a lesson of a corrected draft" in page_words(operator.get(list_of(Example)))


def test_a_lesson_is_kept_with_one_click_and_says_what_was_masked(world: World, operator: Client) -> None:
    lesson = make_lesson(world)
    page = page_words(operator.get(page_of(lesson)))
    assert "Keep as an example" in page
    assert page.count(SENT_TEXT) > 1, "the form holds the lesson's words"
    response = operator.post(decide_url(lesson), WORDS | {"correction": "Call +44 20 7946 0958."}, follow=True)
    assert "Masked before: phone 1." in page_words(response)
    with acting_as(world.operator):
        example = Example.objects.get()
    assert example.correction == "Call [phone]."
    page = page_words(operator.get(page_of(lesson)))
    assert f"Example {example.pk}" in page
    assert "Keep as an example" not in page
    again = operator.post(decide_url(lesson), WORDS)
    assert again.status_code == 409
    assert "is an example already" in page_words(again)


def test_a_refused_correction_is_shown_again_with_the_reason(world: World, operator: Client) -> None:
    refused = operator.post(decide_url(make_lesson(world)), WORDS | {"correction": DRAFT_TEXT})
    assert refused.status_code == 422
    assert "corrects nothing" in page_words(refused)


def test_a_lesson_of_something_else_is_not_kept(world: World, operator: Client) -> None:
    lesson = make_answer_lesson(world)
    assert "Keep as an example" not in page_words(operator.get(page_of(lesson)))
    assert "this lesson has another source" in page_words(operator.post(decide_url(lesson), WORDS))


def test_an_example_shows_its_words_and_whether_they_are_shown_and_is_retired(world: World, operator: Client) -> None:
    example = make_example(world, correction="Track it.")
    page = page_words(operator.get(page_of(example)))
    for words in ("Track it.", DRAFT_TEXT, "is shown no examples"):
        assert words in page
    enable_examples(world)
    assert "fewer than three corrections" in page_words(operator.get(page_of(example)))
    assert "Track it." in page_words(operator.get(list_of(Example)))
    assert decide(operator, example, "retire").status_code < 400
    assert "Track it." not in page_words(operator.get(list_of(Example)))
    assert "cannot be taken up" not in page_words(operator.get(page_of(example)))


def decide_url(lesson: Lesson) -> str:
    return f"/admin/learning/lesson/{lesson.pk}/decide/keep/"
