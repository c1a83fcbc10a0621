"""Which approved skills a person may retire."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.skills.retirement_rules import (
    MIN_CONVERSATIONS,
    MIN_ENDED,
    MIN_RATE_DIFFERENCE,
    UNUSED_AFTER,
    BadOutcomeRate,
    NewerSkill,
    RetirementCause,
    SkillFigures,
    is_worse,
    suggest_retirement,
)

pytestmark = [pytest.mark.pure, pytest.mark.kernel]

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
GOOD, BAD = BadOutcomeRate(100, 10), BadOutcomeRate(40, 30)


def figures(
    *,
    used_days_ago: float | None = None,
    retained_until: datetime | None = None,
    conversations: int = MIN_CONVERSATIONS,
    with_skill: BadOutcomeRate = GOOD,
) -> SkillFigures:
    """Of a skill that was approved long ago."""
    used = None if used_days_ago is None else NOW - timedelta(days=used_days_ago)
    return SkillFigures(NOW - 3 * UNUSED_AFTER, used, retained_until, 0, 0, conversations, with_skill, GOOD)


def causes(skill_figures: SkillFigures) -> list[RetirementCause]:
    return [each.cause for each in suggest_retirement(skill_figures, NOW)]


def test_a_skill_that_nobody_fetched_is_suggested_once_its_agent_was_busy_enough() -> None:
    [found] = suggest_retirement(figures(), NOW)
    assert found.cause == RetirementCause.UNUSED
    assert found.detail == "Nobody fetched it for 180 days, while its agent had 20 conversations."
    assert causes(figures(conversations=MIN_CONVERSATIONS - 1)) == []
    assert causes(figures(used_days_ago=UNUSED_AFTER.days - 1)) == []
    assert causes(figures(used_days_ago=UNUSED_AFTER.days)) == [RetirementCause.UNUSED]


def test_a_skill_that_goes_badly_is_suggested_with_both_shares() -> None:
    [found] = suggest_retirement(figures(used_days_ago=1, with_skill=BAD), NOW)
    assert found.cause == RetirementCause.WORSE
    assert found.detail == "Of 40 conversations with it 75 % ended badly; of 100 without it 10 %."
    assert causes(figures(with_skill=BAD)) == [RetirementCause.UNUSED, RetirementCause.WORSE]


def test_a_skill_that_a_later_one_covers_is_suggested_with_what_is_alike() -> None:
    newer = NewerSkill(
        7, "Refund a late order", NOW - timedelta(days=3), "Both call `refund`; their words agree by 84%."
    )
    skill_figures = replace(figures(used_days_ago=1), newer=newer)
    [found] = suggest_retirement(skill_figures, NOW)
    assert found.cause == RetirementCause.SUPERSEDED
    assert found.detail == (
        "“Refund a late order”, approved later, on 19 November 2026, has the same content."
        " Both call `refund`; their words agree by 84%."
    )
    assert causes(replace(skill_figures, retained_until=NOW + timedelta(days=1))) == []


def test_what_a_person_keeps_is_suggested_again_when_the_time_is_over() -> None:
    assert causes(figures(retained_until=NOW + timedelta(seconds=1))) == []
    assert causes(figures(retained_until=NOW)) == [RetirementCause.UNUSED]


def test_small_numbers_and_small_differences_say_nothing() -> None:
    assert is_worse(BAD, GOOD)
    assert not is_worse(GOOD, BAD)
    assert not is_worse(BadOutcomeRate(MIN_ENDED - 1, MIN_ENDED - 1), GOOD)
    assert not is_worse(BadOutcomeRate(1000, 240), BadOutcomeRate(1000, 100))
    assert not is_worse(BadOutcomeRate(10, 3), BadOutcomeRate(10, 1)), "chance explains it"
    assert BadOutcomeRate(0, 0).percent == 0


counts = st.integers(0, 500).flatmap(lambda ended: st.builds(BadOutcomeRate, st.just(ended), st.integers(0, ended)))


@given(counts, counts)
def test_of_two_shares_at_most_one_is_worse_and_it_is_the_larger(one: BadOutcomeRate, other: BadOutcomeRate) -> None:
    assert not (is_worse(one, other) and is_worse(other, one))
    if is_worse(one, other):
        assert one.of_all - other.of_all >= MIN_RATE_DIFFERENCE
