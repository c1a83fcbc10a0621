"""What a sentence measures, and when two amounts cannot both be right."""

import math

import pytest

from apps.text_analysis.contradictions.amounts import (
    find_amounts,
    has_conflict,
    has_overlap,
    is_same_amount,
    parse_number,
)

pytestmark = [pytest.mark.pure, pytest.mark.kernel]

INF = math.inf


@pytest.mark.parametrize(
    ("text", "dimension", "low", "high"),
    [
        ("within 30 days", "time", -INF, 30),
        ("two weeks", "time", 14, 14),
        ("a fortnight", "time", 14, 14),
        ("half a day", "time", 0.5, 0.5),
        ("at least 2 months", "time", 60, INF),
        ("a year or more", "time", 365, INF),
        ("6 hours or less", "time", -INF, 0.25),
        ("3-5 days", "time", 3, 5),
        ("between 3 and 5 days", "time", 3, 5),
        ("5 to 3 days", "time", 3, 5),
        ("5 business days", "working days", 5, 5),
        ("10 Arbeitstage", "working days", 10, 10),
        ("innerhalb von 14 Tagen", "time", -INF, 14),
        ("$1,000", "money $", 1_000, 1_000),
        ("$ 10.50 per month", "money $/month", 10.5, 10.5),
        ("$10 - $20", "money $", 10, 20),
        ("€4,90", "money €", 4.9, 4.9),
        ("4.90 euros", "money €", 4.9, 4.9),
        ("mindestens 20 Prozent", "share", 20, INF),
        ("5 per cent", "share", 5, 5),
        ("up to twenty-five percent", "share", -INF, 25),
        ("two hundred dollars", "money $", 200, 200),
        ("no more than 3 attempts", "count attempt", -INF, 3),
        ("limit: 5.", "bare", 5, 5),
        ("9 am", "clock", 540, 540),
        ("12 am", "clock", 0, 0),
        ("until 17:30", "clock", -INF, 1_050),
        ("17 Uhr", "clock", 1_020, 1_020),
        ("May 9th", "day", 5 * 31 + 9, 5 * 31 + 9),
        ("am 9.5.", "day", 5 * 31 + 9, 5 * 31 + 9),
        ("until 9 May", "day", -INF, 5 * 31 + 9),
    ],
)
def test_amounts_are_read_with_what_bounds_them(text: str, dimension: str, low: float, high: float) -> None:
    found = find_amounts(text)
    assert [each.dimension for each in found] == [dimension]
    assert found[0].low == pytest.approx(low)
    assert found[0].high == pytest.approx(high)


@pytest.mark.parametrize("text", ["step 3", "version 2", "#4", "an order", "one of them", "no amount", "a", "v2"])
def test_what_only_looks_like_an_amount_is_none(text: str) -> None:
    assert find_amounts(text) == ()


def test_a_date_with_its_year_is_a_date_and_a_day() -> None:
    for text in ("2026-05-09", "9.5.2026", "9 May 2026", "May 9, 2026", "9. Mai 2026", "9th of May 2026"):
        assert {each.dimension: each.low for each in find_amounts(text)} == {"date": 2026 * 500 + 164, "day": 164}, text


def test_an_amount_stands_where_it_was_written() -> None:
    (first, second) = find_amounts("Zürich: within 30 days, then 5 %.")
    assert (first.words, second.words) == ("within 30 days", "5 %")
    assert (first.start, first.end) == (8, 22)


def test_opening_hours_are_bounds() -> None:
    assert [(each.low, each.high) for each in find_amounts("open from 9 am to 5 pm")] == [(540, INF), (-INF, 1_020)]


@pytest.mark.parametrize(
    ("first", "second", "is_same", "is_clash"),
    [
        ("two weeks", "14 days", True, False),
        ("a month", "4 weeks", True, False),
        ("12 months", "one year", True, False),
        ("30 days", "31 days", False, True),
        ("3 days", "5 %", False, False),
        ("within 3 days", "within 5 days", False, True),
        ("within 3 days", "2 days", False, False),
        ("within 3 days", "3 days", False, False),
        ("within 3 days", "4 days", False, True),
        ("at least 3 days", "at most 5 days", False, False),
        ("at least 5 days", "at most 3 days", False, True),
        ("3-5 days", "4 days", False, False),
        ("3-5 days", "4-6 days", False, True),
        ("3-5 days", "6 days", False, True),
    ],
)
def test_amounts_clash_where_both_cannot_be_right(first: str, second: str, is_same: bool, is_clash: bool) -> None:
    (one,), (two,) = find_amounts(first), find_amounts(second)
    assert is_same_amount(one, two) is is_same_amount(two, one) is is_same
    assert has_conflict(one, two) is has_conflict(two, one) is is_clash


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("over 10 %", "20 %", True),
        ("over 10 %", "10 %", False),
        ("over 10 %", "5 %", False),
        ("3-5 days", "5 days", True),
        ("after 3 days", "within 3 days", False),
        ("after 3 days", "within 9 days", True),
    ],
)
def test_amounts_overlap_where_one_thing_can_be_both(first: str, second: str, expected: bool) -> None:
    (one,), (two,) = find_amounts(first), find_amounts(second)
    assert has_overlap(one, two) is has_overlap(two, one) is expected


def test_a_forbidden_bound_leaves_the_other_side() -> None:
    (over,), (under,) = find_amounts("over 10 %"), find_amounts("under 10 %")
    assert (over.turned().low, over.turned().high) == (-INF, 10)
    assert (under.turned().low, under.turned().high) == (10, INF)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("1.000", 1_000),
        ("1,000.50", 1_000.5),
        ("1.000,50", 1_000.5),
        ("7", 7),
        ("twenty-five", 25),
        ("half a", 0.5),
        ("a dozen", 12),
    ],
)
def test_numbers_are_read_as_english_and_german_write_them(words: str, expected: float) -> None:
    assert parse_number(words) == expected
