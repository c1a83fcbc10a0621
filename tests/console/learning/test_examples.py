"""The pages of examples: kept from a lesson's page with what was masked, shown, retired, and off until wanted (Z-12)."""

import pytest
from django.test import Client

from apps.governance.database.actor_transaction import acting
from apps.learning.lessons.models import Example, Lesson
from tests.support.drivers.console_client import decide, list_of, page_of, words_of
from tests.support.factories.lessons import (
    ASKED,
    DRAFTED,
    SENT,
    is_shown_examples,
    make_answered,
    make_example,
    make_lesson,
)
from tests.support.worlds.world import World

pytestmark = pytest.mark.django_db
WORDS = {"read_at": 1, "situation": ASKED, "draft": DRAFTED, "correction": SENT}


def test_a_bank_without_examples_says_where_they_come_from(world: World, operator: Client) -> None:
    assert "Open a lesson of a corrected draft" in words_of(operator.get(list_of(Example)))


def test_a_lesson_is_kept_with_one_click_and_says_what_was_masked(world: World, operator: Client) -> None:
    lesson = make_lesson(world)
    page = words_of(operator.get(page_of(lesson)))
    assert "Keep as an example" in page
    assert page.count(SENT) > 1, "the form holds the lesson's words"
    told = operator.post(decide_url(lesson), WORDS | {"correction": "Call +44 20 7946 0958."}, follow=True)
    assert "Masked before: phone 1." in words_of(told)
    with acting(world.operator):
        example = Example.objects.get()
    assert example.correction == "Call [phone]."
    page = words_of(operator.get(page_of(lesson)))
    assert f"Example {example.pk}" in page
    assert "Keep as an example" not in page
    again = operator.post(decide_url(lesson), WORDS)
    assert again.status_code == 409
    assert "is an example already" in words_of(again)


def test_a_refused_correction_is_shown_again_with_the_reason(world: World, operator: Client) -> None:
    refused = operator.post(decide_url(make_lesson(world)), WORDS | {"correction": DRAFTED})
    assert refused.status_code == 422
    assert "corrects nothing" in words_of(refused)


def test_a_lesson_of_something_else_is_not_kept(world: World, operator: Client) -> None:
    lesson = make_answered(world)
    assert "Keep as an example" not in words_of(operator.get(page_of(lesson)))
    assert "This lesson came of something else" in words_of(operator.post(decide_url(lesson), WORDS))


def test_an_example_shows_its_words_and_whether_they_are_shown_and_is_retired(world: World, operator: Client) -> None:
    example = make_example(world, correction="Track it.")
    page = words_of(operator.get(page_of(example)))
    for words in ("Track it.", DRAFTED, "is shown no examples"):
        assert words in page
    is_shown_examples(world)
    assert "fewer than three corrections" in words_of(operator.get(page_of(example)))
    assert "Track it." in words_of(operator.get(list_of(Example)))
    assert decide(operator, example, "retire").status_code < 400
    assert "Track it." not in words_of(operator.get(list_of(Example)))
    assert "cannot be taken up" not in words_of(operator.get(page_of(example)))


def decide_url(lesson: Lesson) -> str:
    return f"/admin/learning/lesson/{lesson.pk}/decide/keep/"
