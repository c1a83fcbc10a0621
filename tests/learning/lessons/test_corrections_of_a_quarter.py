"""A quarter of corrections through the real tables: lessons, digests, versions that people decide on, and the bounds they keep."""

import json
import random
from collections import Counter
from datetime import timedelta

import pytest
from django.utils import timezone

from apps.governance.database.actor_transaction import acting_as
from apps.learning.digest.models import DigestRun
from apps.learning.digest.pipeline import digest_agent_lessons
from apps.learning.lessons.actions import activate_version, reject_version
from apps.learning.lessons.lesson_cases import LessonText
from apps.learning.lessons.lesson_journal import CaseSource, record_case
from apps.learning.lessons.models import LearningVersion, Lesson, LessonCase
from apps.learning.lessons.rules import LESSONS_PER_DIGEST, VERSIONS_KEPT, LessonSource, parse_bullets, render_summary
from apps.prompt.text_limits import LEARNING_BULLETS
from tests.support.drivers.conversation import reply
from tests.support.factories.lessons import versions_of
from tests.support.parameter_sampling import whole_or
from tests.support.servers.standin_model import StandIn
from tests.support.worlds.world import World, make_world

DAYS, CASES_A_DAY = whole_or((26, 4), whole=(90, 112))
SUBJECT_COUNT = 200
Status = LearningVersion.Status


def work_a_day(world: World, day: int, chance: random.Random) -> None:
    """Drafts that were sent in other words, some matters often and most seldom."""
    at = timezone.now() - timedelta(days=DAYS - day)
    for number in range(CASES_A_DAY):
        matter = f"matter{min(chance.randrange(SUBJECT_COUNT), chance.randrange(SUBJECT_COUNT))}"
        lesson_text = LessonText(
            f"A customer asks about {matter}.", "It is on its way.", f"Say what the page {matter} says."
        )
        found = CaseSource(LessonSource.EDITED_DRAFT, day * CASES_A_DAY + number + 1, world.agent.pk, None, at)
        assert record_case(found, lesson_text, actor=world.system) is not None
    # One matter a day is answered by a person, which is sure enough for a digest.
    lesson_text = LessonText(
        f"A customer asks about day {day}.", "The agent could not settle this.", f"Say what page {day} says."
    )
    found = CaseSource(LessonSource.ANSWERED_ESCALATION, day + 1, world.agent.pk, None, at)
    assert record_case(found, lesson_text, actor=world.system) is not None


def answer(world: World, day: int) -> dict[str, object]:
    """What a model makes of it: a list that carries on the latest matters, more of them than an agent is shown."""
    with acting_as(world.operator):
        ids = [row.pk for row in Lesson.objects.filter(learning_version=None) if row.is_promotable]
    bullets = [f"- Say what page {number} says." for number in range(max(day - 13, 0), day + 1)]
    payload = {
        "body": "\n".join(bullets),
        "change_summary": f"Day {day}.",
        "folded_lesson_ids": ids[:LESSONS_PER_DIGEST],
    }
    return reply(json.dumps(payload))


def decide(world: World, chance: random.Random) -> None:
    """A person looks at what waits, and says yes to most of it."""
    for version in versions_of(world):
        if version.status == Status.PENDING:
            settle = activate_version if chance.random() < 0.8 else reject_version
            settle(version, actor=world.operator)


def assert_bounds(world: World) -> None:
    versions = versions_of(world)
    assert len(versions) <= VERSIONS_KEPT
    states = Counter(version.status for version in versions)
    assert states[Status.ACTIVE] <= 1 >= states[Status.PENDING]
    for version in versions:
        assert len(parse_bullets(render_summary(version.body))) <= LEARNING_BULLETS


@pytest.mark.slow
@pytest.mark.django_db
@pytest.mark.whole
@pytest.mark.unmeasured
def test_a_quarter_of_corrections_stays_within_bounds(world: World, standin: StandIn) -> None:
    # R144, R145, R148, R155
    chance = random.Random(11)
    for day in range(DAYS):
        work_a_day(world, day, chance)
        standin.play(answer(world, day))
        digest_agent_lessons(world.agent.pk, actor=world.system, backend=standin.backend)
        assert_bounds(world)
        decide(world, chance)
        assert_bounds(world)
    with acting_as(world.operator):
        assert LessonCase.objects.count() == DAYS * (CASES_A_DAY + 1)
        assert Lesson.objects.count() <= SUBJECT_COUNT + DAYS
        verdicts = Counter(DigestRun.objects.values_list("verdict", flat=True))
    versions = versions_of(world)
    assert versions[-1].number > VERSIONS_KEPT == len(versions)
    assert sum(verdicts.values()) == DAYS
    print(
        f"{verdicts} {len(versions)} of {versions[-1].number} versions, {len(parse_bullets(versions[-1].body))} bullets"
    )


@pytest.fixture
def world(db: None) -> World:
    return make_world()
