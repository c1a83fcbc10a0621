"""Until when lines hold: what a session that opens at a moment is told."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from apps.prompt.memory_lines.line_diff import line_sha256
from apps.prompt.memory_lines.line_expiry import (
    LineDates,
    drop_expired_lines,
    expiring_lines,
    find_line_dates,
    format_line_dates,
    is_expired,
    merge_line_dates,
    parse_day_end,
    parse_day_start,
    parse_line_dates,
)

pytestmark = [pytest.mark.pure, pytest.mark.kernel]

NOON = datetime(2026, 5, 9, 12, tzinfo=UTC)
TEXT = "Sale.\n\n Parking is free. \nOpen from nine."


def sale_expiry(**ends: datetime) -> dict[str, dict[str, str]]:
    return {line_sha256("Sale."): LineDates(valid_until=ends["sale"]).wire}


def test_a_line_holds_up_to_its_end_and_not_at_it() -> None:
    assert not is_expired("Sale.", sale_expiry(sale=NOON), NOON - timedelta(microseconds=1))
    assert is_expired(" Sale. ", sale_expiry(sale=NOON), NOON)
    assert not is_expired("Open from nine.", sale_expiry(sale=NOON), NOON)


def test_what_holds_no_more_leaves_an_empty_line_so_that_the_others_keep_their_numbers() -> None:
    assert drop_expired_lines(TEXT, sale_expiry(sale=NOON), NOON) == "\n\n Parking is free. \nOpen from nine."
    assert drop_expired_lines(TEXT, sale_expiry(sale=NOON + timedelta(1)), NOON) == TEXT
    assert drop_expired_lines("A\r\nB", {}, NOON) == "A\r\nB"


def test_dates_go_with_their_lines_and_without_any_there_are_none() -> None:
    dates = merge_line_dates(TEXT, {}, {"Sale.": LineDates(NOON, NOON), "Gone.": LineDates(NOON)})
    assert LineDates.of(dates[line_sha256("Sale.")]) == LineDates(NOON, NOON)
    assert list(dates) == [line_sha256("Sale.")]
    assert merge_line_dates(TEXT, dates, {"Sale.": LineDates()}) == {}
    assert merge_line_dates("Open from nine.", dates, {}) == {}
    assert LineDates.of({}) == LineDates()


def test_a_day_ends_by_the_tenants_clock_and_a_moment_where_it_says() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    assert parse_day_end("2026-12-31", berlin) == datetime(2026, 12, 31, 23, tzinfo=UTC)
    assert parse_day_end("2026-12-31T12:00", berlin) == datetime(2026, 12, 31, 11, tzinfo=UTC)
    assert parse_day_end("2026-12-31T12:00+00:00", berlin) == datetime(2026, 12, 31, 12, tzinfo=UTC)
    for nonsense in ("tomorrow", "2026-13-01", "", "next year, I think"):
        with pytest.raises(ValueError, match=r".+"):
            parse_day_end(nonsense, berlin)


def test_dates_are_said_as_days_by_the_tenants_clock_and_meant_as_they_were() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    new_year = datetime(2026, 12, 31, 23, tzinfo=UTC)
    line_dates = {
        "Sale.": LineDates(new_year, new_year),
        "Noon.": LineDates(NOON),
        "Look.": LineDates(review_after=NOON),
    }
    date_texts = format_line_dates(line_dates, berlin)
    assert date_texts == {
        "valid_until": {"Sale.": "2026-12-31", "Noon.": "2026-05-09T14:00:00+02:00"},
        "review_after": {"Sale.": "2027-01-01", "Look.": "2026-05-09T14:00:00+02:00"},
    }
    assert parse_line_dates(date_texts, berlin) == line_dates
    assert (format_line_dates({}, berlin), parse_line_dates({}, berlin)) == ({}, {})
    assert format_line_dates({"Sale.": LineDates(new_year)}, berlin) == {"valid_until": {"Sale.": "2026-12-31"}}


def test_the_dates_of_some_lines_are_told_by_the_line() -> None:
    assert find_line_dates([" Sale. ", "", "Open from nine."], sale_expiry(sale=NOON)) == {"Sale.": LineDates(NOON)}


def test_a_day_to_look_again_begins_by_the_tenants_clock() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    assert parse_day_start("2026-12-31", berlin) == datetime(2026, 12, 30, 23, tzinfo=UTC)
    assert parse_day_start("2026-12-31T12:00", berlin) == datetime(2026, 12, 31, 11, tzinfo=UTC)


def test_lines_with_an_end_are_told_with_it() -> None:
    dates = sale_expiry(sale=NOON)
    assert expiring_lines([" Sale. ", "", "Open from nine."], dates) == [("Sale.", NOON)]
