"""Figures of days: shares, amounts and means, as plots and as tables."""

from datetime import date

import pytest

from apps.console.framework.charts import (
    changed_words_percent,
    days_until,
    mean_plot,
    percent,
    share_plot,
    stacked_plot,
)

pytestmark = [pytest.mark.pure, pytest.mark.kernel]

TODAY = date(2026, 5, 9)
DAYS = days_until(TODAY, 3)
FIRST, SECOND, THIRD = DAYS


def test_days_end_with_today() -> None:
    assert [date(2026, 5, 7), date(2026, 5, 8), TODAY] == DAYS


def test_a_share_of_nothing_is_none_and_none_is_more_than_all() -> None:
    assert percent(1, 0) is None
    assert percent(3, 2) == 100
    assert percent(2, 3) == 67


def test_shares_are_told_day_by_day_and_over_all_days() -> None:
    plot = share_plot(DAYS, {FIRST: 3, THIRD: 0}, {FIRST: 4, THIRD: 4, date(2026, 1, 1): 99})
    assert [point.heights for point in plot.points] == [(75,), (), (0,)]
    assert [point.cells for point in plot.points] == [("75 %", "3 of 4"), ("-", "0 of 0"), ("0 %", "0 of 4")]
    assert (plot.total, plot.width, plot.is_empty) == ("38 % (3 of 8)", 30, False)
    assert share_plot(DAYS, {}, {}).is_empty
    assert share_plot(DAYS, {}, {}).total == "nothing yet"


def test_amounts_stand_upon_each_other_against_the_highest_day() -> None:
    plot = stacked_plot(DAYS, ({FIRST: 3, THIRD: 1}, {FIRST: 1}))
    assert [(bar.y, bar.height, bar.kind) for bar in plot.points[0].bars] == [(25, 75, 0), (0, 25, 1)]
    assert [point.heights for point in plot.points] == [(75, 25), (), (25, 0)]
    assert (plot.points[2].x, plot.points[2].said, plot.total) == (20, "1, 0", "4 + 1")
    assert plot.line_y is None


def test_an_amount_is_seen_against_its_line() -> None:
    plot = stacked_plot(DAYS, ({FIRST: 50},), "{} cents".format, line=200)
    assert (plot.points[0].heights, plot.line_y, plot.total) == ((25,), 0, "50 cents")
    assert stacked_plot(DAYS, ({FIRST: 400},), line=200).line_y == 50


def test_means_are_of_what_was_compared() -> None:
    plot = mean_plot(DAYS, {FIRST: [10, 20], THIRD: [60]})
    assert [point.cells for point in plot.points] == [("15 %", "2"), ("-", "0"), ("60 %", "1")]
    assert plot.total == "30 %"
    assert mean_plot(DAYS, {}).total == "nothing yet"


def test_words_that_went_or_came_are_a_share_of_all_words() -> None:
    assert changed_words_percent("It is on its way.", "it is on its way.") == 0
    assert changed_words_percent("It is lost.", "It is found.") == 33
    assert changed_words_percent("Hello", "Goodbye now") == 100
    assert changed_words_percent("", "") == 0
