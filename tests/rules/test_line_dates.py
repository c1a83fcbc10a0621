"""Until when lines hold: what a session that opens at a moment is told."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from apps.prompt.line_dates import LineDates, holding, is_expired, kept, last_moment, told_dates
from apps.prompt.line_ledger import line_sha256

NOON = datetime(2026, 5, 9, 12, tzinfo=UTC)
TEXT = "Sale.\n\n Parking is free. \nOpen from nine."


def until(**ends: datetime) -> dict[str, dict[str, str]]:
    return {line_sha256("Sale."): LineDates(valid_until=ends["sale"]).wire}


def test_a_line_holds_up_to_its_end_and_not_at_it() -> None:
    assert not is_expired("Sale.", until(sale=NOON), NOON - timedelta(microseconds=1))
    assert is_expired(" Sale. ", until(sale=NOON), NOON)
    assert not is_expired("Open from nine.", until(sale=NOON), NOON)


def test_what_holds_no_more_leaves_an_empty_line_so_that_the_others_keep_their_numbers() -> None:
    assert holding(TEXT, until(sale=NOON), NOON) == "\n\n Parking is free. \nOpen from nine."
    assert holding(TEXT, until(sale=NOON + timedelta(1)), NOON) == TEXT
    assert holding("A\r\nB", {}, NOON) == "A\r\nB"


def test_dates_go_with_their_lines_and_without_any_there_are_none() -> None:
    dates = kept(TEXT, {}, {"Sale.": LineDates(NOON, NOON), "Gone.": LineDates(NOON)})
    assert LineDates.of(dates[line_sha256("Sale.")]) == LineDates(NOON, NOON)
    assert list(dates) == [line_sha256("Sale.")]
    assert kept(TEXT, dates, {"Sale.": LineDates()}) == {}
    assert kept("Open from nine.", dates, {}) == {}
    assert LineDates.of({}) == LineDates()


def test_a_day_ends_by_the_tenants_clock_and_a_moment_where_it_says() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    assert last_moment("2026-12-31", berlin) == datetime(2026, 12, 31, 23, tzinfo=UTC)
    assert last_moment("2026-12-31T12:00", berlin) == datetime(2026, 12, 31, 11, tzinfo=UTC)
    assert last_moment("2026-12-31T12:00+00:00", berlin) == datetime(2026, 12, 31, 12, tzinfo=UTC)
    for nonsense in ("tomorrow", "2026-13-01", "", "next year, I think"):
        with pytest.raises(ValueError, match=r".+"):
            last_moment(nonsense, berlin)


def test_lines_with_an_end_are_told_with_it() -> None:
    dates = until(sale=NOON)
    assert told_dates([" Sale. ", "", "Open from nine."], dates) == [("Sale.", NOON)]
