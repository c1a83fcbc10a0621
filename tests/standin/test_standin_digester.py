"""The stand-in writes a list from lessons, the same from the same."""

import json

import pytest

from apps.learning.digest.digest_answer import Digest, parse_digest
from apps.prompt.learning_prompts.lesson_digest import DigestLesson, digest_message
from apps.standin.learning_agents.digester import MOST_BULLETS, digest_lessons

pytestmark = pytest.mark.pure


def lesson(number: int, instead: str = "") -> DigestLesson:
    return DigestLesson(number, "Where?", "Soon.", instead, 2)


def test_what_stands_comes_first_and_each_lesson_that_says_what_to_do_adds_a_bullet() -> None:
    material = digest_message(["Be brief."], [lesson(1, "Look it up."), lesson(2), lesson(3, "Look it up.")], [])
    found = parse_digest(digest_lessons(material))
    assert isinstance(found, Digest)
    assert found.body == "- Be brief.\n- Answer as colleagues do: Look it up."
    assert found.folded_lesson_ids == (1, 3)
    assert digest_lessons(material) == digest_lessons(material)


def test_a_list_stays_short_and_so_does_each_bullet() -> None:
    material = digest_message([], [lesson(number, f"{number} " + "word " * 100) for number in range(30)], [])
    bullets = json.loads(digest_lessons(material))["body"].split("\n")
    assert len(bullets) == MOST_BULLETS
    assert max(map(len, bullets)) <= 252
