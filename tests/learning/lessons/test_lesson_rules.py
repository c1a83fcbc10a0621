"""Lessons that say the same are one, the gate, what a digest reads, and which versions stay."""

import random
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.learning.digest.digest_answer import BODY_BULLETS, BODY_CHARACTERS, AcceptedDigest, Digest, vet_digest
from apps.learning.guardrails.conflicts_with_guardrails import Guardrails
from apps.learning.lessons.rules import (
    CORRECTIONS_PER_DIGEST,
    FIRST_CONFIDENCE,
    LESSONS_PER_DIGEST,
    VERSIONS_KEPT,
    DraftCorrection,
    LessonSource,
    LessonValue,
    PrunableVersion,
    add_case,
    corrections_to_digest,
    dedup_key,
    discard_dedup_key,
    edit_dedup_key,
    is_faded,
    is_promotable,
    lessons_to_digest,
    parse_bullets,
    render_summary,
    versions_to_prune,
)
from apps.prompt.text_limits import LEARNING_BULLET_CHARACTERS, LEARNING_BULLETS

pytestmark = [pytest.mark.pure, pytest.mark.kernel]

NOW = datetime(2026, 5, 9, 12, tzinfo=UTC)


def lesson(lesson_id: int = 1, support: int = 1, confidence: float = 0.1, **more: object) -> LessonValue:
    made = LessonValue(lesson_id, "A refund is asked for.", "It was promised.", "Look it up.", support, confidence, NOW)
    return replace(made, **more)  # type: ignore[arg-type]  # Values of the fields named.


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("Ask for the order number.", "Please ask for the order numbers!"),
        ("Refund within two weeks.", "Refund within 14 days"),
        ("If it is late, apologise. Then check.", "Then check. If it is late, apologise."),
        ("!!!", "!!!"),
        ("  ok  ", "OK"),
    ],
)
def test_lessons_that_say_the_same_have_one_key(one: str, two: str) -> None:
    # R151
    assert dedup_key("Asked.", "Wrong.", one) == dedup_key("Asked.", "Wrong.", two)


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("Ask for the order number.", "Never ask for the order number."),
        ("Refund within 14 days.", "Refund within 30 days."),
        ("If it is late, apologise.", "If it is lost, apologise."),
        ("Ask before the check.", "Ask after the check."),
        ("Refund it.", "Exchange it."),
        ("!!!", "???"),
    ],
)
def test_what_differs_has_another_key(one: str, two: str) -> None:
    assert dedup_key("Asked.", "Wrong.", one) != dedup_key("Asked.", "Wrong.", two)
    assert dedup_key(one, "", two) != dedup_key(two, "", one)


ADDED = "Your order number stands in the confirmation that we sent."


def test_edits_that_change_the_same_are_one_lesson_whatever_stays_and_whatever_was_asked() -> None:
    # R151
    first = edit_dedup_key("Where is it?", "Hello. It is late.", f"Hello. {ADDED} It is late.")
    assert first == edit_dedup_key("A refund, please.", "We refund you today.", f"We refund you today. {ADDED}")
    assert first != edit_dedup_key("Where is it?", f"Hello. {ADDED}", "Hello."), "what came is not what went"
    assert first != edit_dedup_key("Where is it?", "Hello.", f"Hello. {ADDED.replace('Your', 'Never ask for your')}")
    one, two = (
        edit_dedup_key("Late?", "Soon.", f"It takes {days} days from the shop to your door.") for days in (3, 5)
    )
    assert one != two


def test_an_edit_of_few_words_is_another_lesson_for_another_question() -> None:
    assert edit_dedup_key("Is it late?", "Yes.", "No.") != edit_dedup_key("May I pay later?", "Yes.", "No.")
    assert edit_dedup_key("Is it late?", "Hello. Yes.", "Hello. No.") == edit_dedup_key("Is it late?", "Yes.", "No.")


def test_drafts_that_were_discarded_with_the_same_words_are_one_lesson_whatever_was_asked() -> None:
    # R151
    why = "Never promise a day before you looked the parcel up."
    first = discard_dedup_key("Where is it?", "Ungrounded: Tomorrow.", why)
    assert first == discard_dedup_key("My parcel is late.", "Ungrounded: On Monday.", why)
    assert first != discard_dedup_key("Where is it?", "Ungrounded: Tomorrow.", why.replace("Never", "Always"))
    assert discard_dedup_key("Late?", "Wrong: Yes.", "No.") != discard_dedup_key(
        "May I pay later?", "Wrong: Yes.", "No."
    )
    assert discard_dedup_key("Late?", "Wrong: Yes.", "") != discard_dedup_key("Late?", "Wrong: No.", "")


@given(st.text(max_size=200), st.text(max_size=200), st.text(max_size=200))
def test_every_lesson_has_a_key_of_one_length(situation: str, wrong: str, instead: str) -> None:
    assert len(discard_dedup_key(situation, wrong, instead)) == 64
    assert len(dedup_key(situation, wrong, instead)) == len(edit_dedup_key(situation, wrong, instead)) == 64


@given(st.lists(st.sampled_from(LessonSource), min_size=1, max_size=50))
def test_each_case_counts_and_makes_surer_up_to_a_bound(sources: list[LessonSource]) -> None:
    known = lesson(confidence=FIRST_CONFIDENCE[sources[0]], is_digested=True)
    for number, source in enumerate(sources[1:], start=2):
        later = add_case(known, source, NOW + timedelta(days=number))
        assert later.support_count == number
        assert known.confidence < later.confidence <= 0.99 or later.confidence == 0.99
        assert later.last_seen_at > known.last_seen_at
        assert not later.is_digested
        known = later


def test_an_older_case_that_comes_late_does_not_set_the_clock_back() -> None:
    assert add_case(lesson(), LessonSource.FAILED_TURN, NOW - timedelta(days=1)).last_seen_at == NOW


@pytest.mark.parametrize(("support", "confidence", "passes"), [(1, 0.39, False), (2, 0.0, True), (1, 0.4, True)])
def test_the_gate_wants_two_cases_or_one_that_is_sure(support: int, confidence: float, passes: bool) -> None:
    # R155
    assert is_promotable(lesson(support=support, confidence=confidence)) is passes


def test_what_people_say_passes_at_once_and_what_merely_happened_needs_a_second_case() -> None:
    passing = {
        source for source, confidence in FIRST_CONFIDENCE.items() if is_promotable(lesson(confidence=confidence))
    }
    assert passing == {
        LessonSource.ANSWERED_ESCALATION,
        LessonSource.REJECTED_PROPOSAL,
        LessonSource.REJECTED_VERSION,
        LessonSource.REPORTED_REPLY,
    }
    assert set(FIRST_CONFIDENCE) == set(LessonSource)


def test_a_single_case_fades_and_what_was_confirmed_does_not() -> None:
    later = NOW + timedelta(days=91)
    assert is_faded(lesson(), later)
    assert not is_faded(lesson(), NOW + timedelta(days=90))
    assert not is_faded(lesson(support=2), later)


def test_a_digest_reads_the_best_supported_lessons_and_among_equals_those_that_wait_longest() -> None:
    # R154
    lessons = [
        lesson(1, 2, last_seen_at=NOW),
        lesson(2, 2, last_seen_at=NOW - timedelta(days=1)),
        lesson(3, 9),
        lesson(4, 1, 0.9),
        lesson(5, 1, 0.1),
        lesson(6, 9, is_digested=True),
        lesson(7, 2, 0.8),
    ]
    assert [each.lesson_id for each in lessons_to_digest(lessons, NOW)] == [3, 7, 2, 1, 4]
    assert [each.lesson_id for each in lessons_to_digest(lessons, NOW, limit=2)] == [3, 7]
    assert lessons_to_digest(reversed(lessons), NOW) == lessons_to_digest(lessons, NOW)


def test_a_digest_reads_the_latest_corrections_in_their_order() -> None:
    # R154
    corrections = [DraftCorrection(number, "a", "b", NOW + timedelta(hours=number)) for number in range(60)]
    random.Random(1).shuffle(corrections)
    assert [each.correction_id for each in corrections_to_digest(corrections)] == list(range(10, 60))
    assert corrections_to_digest(corrections, limit=0) == ()


@given(st.integers(0, 60), st.sets(st.integers(1, 60)), st.integers(0, 60), st.sets(st.integers(1, 60), max_size=3))
def test_pruning_keeps_what_is_active_waiting_or_read(
    count: int, pinned: set[int], active: int, waiting: set[int]
) -> None:
    # R148
    versions = [
        PrunableVersion(100 + number, number, number == active, number in waiting) for number in range(1, count + 1)
    ]
    ids = {100 + number for number in pinned}
    pruned = versions_to_prune(versions, ids)
    left = [each for each in versions if each.version_id not in pruned]
    assert all(each in left for each in versions if each.is_active or each.is_pending or each.version_id in ids)
    free = [each.number for each in left if not (each.is_active or each.is_pending or each.version_id in ids)]
    assert len(left) <= VERSIONS_KEPT or not free
    # The oldest go first.
    assert all(each.version_id in pruned or each.number >= min(free) for each in versions if free and each not in left)
    assert versions_to_prune(left, ids) == ()


def test_the_user_turn_carries_ten_bullets() -> None:
    # R145
    body = "\n".join(["- First.", "* First.", "", *(f"  - Bullet {number} {'x' * 400}" for number in range(20))])
    summary = render_summary(body).split("\n")
    assert len(parse_bullets(body)) == 21
    assert len(summary) == LEARNING_BULLETS
    assert summary[0] == "- First."
    assert all(len(each) <= LEARNING_BULLET_CHARACTERS + 2 for each in summary)
    assert render_summary("\n \n-") == ""


@cache
def key_of(kind: int) -> str:
    return dedup_key(f"Case {kind} of a delivery.", "It was wrong.", f"Do thing {kind} instead.")


def quarter(seed: int) -> tuple[dict[str, LessonValue], list[PrunableVersion], str]:
    """Ninety days of an agent: about 110 cases a day of 900 kinds, a digest each night, and the checks after each."""
    chance = random.Random(seed)
    lessons: dict[str, LessonValue] = {}
    versions: list[PrunableVersion] = []
    body = ""
    for day in range(90):
        now = NOW + timedelta(days=day)
        for _ in range(112):
            kind = min(int(chance.paretovariate(0.6)), 900)
            source = chance.choice(list(LessonSource))
            key = key_of(kind)
            known = lessons.get(key)
            fresh = lesson(len(lessons) + 1, 1, FIRST_CONFIDENCE[source], last_seen_at=now, situation=f"Case {kind}.")
            lessons[key] = add_case(known, source, now) if known else fresh
        lessons = {key: each for key, each in lessons.items() if not is_faded(each, now)}
        read = lessons_to_digest(lessons.values(), now)
        assert len(read) <= LESSONS_PER_DIGEST
        ids = tuple(each.lesson_id for each in read)
        bullets = [*(f"Answer {each.situation}" for each in read), *parse_bullets(body)][:BODY_BULLETS]
        vetted = vet_digest(
            Digest("\n".join(f"- {each}" for each in dict.fromkeys(bullets)), "More.", (*ids, 10**9)),
            active_body=body,
            given_ids=ids,
            held=Guardrails(),
        )
        if isinstance(vetted, AcceptedDigest):
            body = vetted.body
            versions = [
                *(replace(each, is_active=False) for each in versions),
                PrunableVersion(day, day, is_active=True),
            ]
            pinned = {chance.randrange(day + 1) for _ in range(3)}
            gone = versions_to_prune(versions, pinned)
            versions = [each for each in versions if each.version_id not in gone]
            lessons = {
                key: replace(each, is_digested=each.is_digested or each.lesson_id in vetted.lesson_ids)
                for key, each in lessons.items()
            }
        assert len(versions) <= VERSIONS_KEPT
        assert len(body) <= BODY_CHARACTERS
        assert len(render_summary(body).splitlines()) <= LEARNING_BULLETS
    return lessons, versions, body


@pytest.mark.slow
def test_ten_thousand_lessons_of_a_quarter_stay_within_bounds(capsys: pytest.CaptureFixture[str]) -> None:
    began = time.process_time()
    lessons, versions, body = quarter(6)
    with capsys.disabled():
        print(
            f"\na quarter: 10,080 cases are {len(lessons)} lessons, {len(versions)} versions, {len(parse_bullets(body))} bullets,"
            f" in {time.process_time() - began:.1f} s"
        )
    assert sum(each.support_count for each in lessons.values()) <= 10_080
    assert len(lessons) <= 900
    assert len(versions) == VERSIONS_KEPT
    assert sum(each.is_active for each in versions) == 1
    assert CORRECTIONS_PER_DIGEST == 50


def test_a_flood_of_single_cases_crowds_out_nothing() -> None:
    flood = [lesson(number, 1, 0.4) for number in range(10_000)]
    assert lessons_to_digest([*flood, lesson(10_001, 2, 0.0)], NOW)[0].lesson_id == 10_001
