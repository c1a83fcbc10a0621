"""Days named by another day: which are given their date, and which are left to a person (R115)."""

from datetime import date

import pytest

from apps.learning.extraction.draft_validation import VettedDraft, resolve_relative_dates
from apps.text_analysis.relative_dates import (
    DatedText,
    relative_date_warning,
    replace_all_relative_dates,
    replace_relative_dates,
)

pytestmark = [pytest.mark.pure, pytest.mark.kernel]

# A Wednesday.
DAY = date(2026, 11, 18)


@pytest.mark.parametrize(
    ("message", "meant"),
    [
        ("The sale ends tomorrow.", "The sale ends 2026-11-19."),
        ("Valid until today.", "Valid until 2026-11-18."),
        ("Open since yesterday", "Open since 2026-11-17"),
        ("closed from tonight on", "closed from 2026-11-18 on"),
        ("Refunds are paid until this Friday.", "Refunds are paid until 2026-11-20."),
        ("until this Wednesday", "until 2026-11-18"),
        ("since last Wednesday", "since 2026-11-11"),
        ("Since last Monday the form is online.", "Since 2026-11-16 the form is online."),
        ("The rule begins on next month", "The rule begins on 2026-12"),
        ("expires this year", "expires 2026"),
        ("as of next year", "as of 2027"),
        ("since last month", "since 2026-10"),
        ("starting next week", "starting the week of 2026-11-23"),
        ("Die Aktion endet übermorgen, gilt seit gestern.", "Die Aktion endet 2026-11-20, gilt seit 2026-11-17."),
        ("ab heute", "ab 2026-11-18"),
    ],
)
def test_where_something_begins_or_ends_the_date_is_written(message: str, meant: str) -> None:
    found = replace_relative_dates(message, DAY)
    assert found.text == meant
    assert found.written
    assert not found.left
    assert replace_relative_dates(meant, DAY) == DatedText(meant)


@pytest.mark.parametrize(
    "text",
    [
        "Ask whether it came yesterday.",
        "Tell the customer that it is sent today.",
        "until next Friday",
        "ends this weekend",
        "until next quarter",
        "bis nächste Woche",
    ],
)
def test_what_may_mean_any_day_is_left_and_said(text: str) -> None:
    found = replace_relative_dates(text, DAY)
    assert (found.text, found.written) == (text, ())
    assert len(found.left) == 1
    assert found.left[0] in found.sentences


@pytest.mark.parametrize(
    "message", ["Wait two days.", "the day before", "Call back the next day.", "from Monday to Friday"]
)
def test_spans_and_weekdays_are_no_days_by_today(message: str) -> None:
    assert replace_relative_dates(message, DAY) == DatedText(message)
    assert not replace_relative_dates(message, DAY).sentences


def test_without_a_day_nothing_is_written() -> None:
    assert replace_relative_dates("It ends tomorrow.", None) == DatedText("It ends tomorrow.", (), ("tomorrow",))


@pytest.mark.parametrize(("message", "day"), [("until tomorrow", date.max), ("since last month", date.min)])
def test_beyond_the_calendar_nothing_is_written(message: str, day: date) -> None:
    assert replace_relative_dates(message, day).text == message


def test_a_turn_of_the_year_is_a_month_like_any() -> None:
    assert replace_relative_dates("until next month", date(2026, 12, 31)).text == "until 2027-01"
    assert replace_relative_dates("since last month", date(2026, 1, 1)).text == "since 2025-12"


def test_several_texts_are_told_of_together() -> None:
    texts, found = replace_all_relative_dates(("Ends tomorrow.", "Ask today."), DAY)
    assert texts == ("Ends 2026-11-19.", "Ask today.")
    assert found.sentences == (
        "By the day of the conversation “Ends tomorrow” is written as 2026-11-19."
        " It names days by the day on which it was written, look whether one is meant: “today”."
    )


def test_a_draft_is_dated_but_for_its_name() -> None:
    draft, warning = resolve_relative_dates(
        VettedDraft("until-tomorrow", "Until tomorrow", "Ends today.", "Since yesterday."), DAY
    )
    assert draft == VettedDraft("until-tomorrow", "Until 2026-11-19", "Ends 2026-11-18.", "Since 2026-11-17.")
    assert "2026-11-17" in warning


def test_a_day_that_is_named_by_today_is_pointed_out() -> None:
    assert relative_date_warning(["Open from nine.", "Refunds take 5 days.", "It ends on 9 May 2026."]) == ""
    warning = relative_date_warning([" The sale ends Tomorrow. ", "Closed next Monday and heute."])
    assert warning == (
        "If a certain day is meant, write its date, for whoever reads it later does not know today:"
        " “The sale ends Tomorrow.” (Tomorrow); “Closed next Monday and heute.” (next Monday);"
        " “Closed next Monday and heute.” (heute)."
    )
