"""When schedules run: time zones, clocks that are set, times that passed unnoticed."""

from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise

import pytest

from apps.launcher.data_folders import PROJECT
from apps.prompt.rendering.scheduled_task import (
    NOTHING_TO_REPORT,
    ScheduledTask,
    render_scheduled_task,
    reports_nothing,
)
from apps.schedules.rules import MAX_MISSED_COUNTED, ONCE, SKIP, cron_flaw, find_due_run, next_time, times_after

pytestmark = [pytest.mark.pure, pytest.mark.kernel]

GOLDEN = PROJECT / "tests" / "golden" / "scheduled.txt"


def utc_moment(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("cron", "zone", "after", "expected"),
    [
        # R119: every day at eleven at night, where the tenant is.
        ("0 23 * * *", "Europe/Berlin", "2026-01-10T12:00", ["2026-01-10T22:00", "2026-01-11T22:00"]),
        ("0 23 * * *", "Europe/Berlin", "2026-07-10T12:00", ["2026-07-10T21:00", "2026-07-11T21:00"]),
        # 02:30 does not exist on 29 March 2026 in Berlin: it runs right after, at 03:00 summer time, once.
        ("30 2 * * *", "Europe/Berlin", "2026-03-28T12:00", ["2026-03-29T01:00", "2026-03-30T00:30"]),
        ("0,30 2 * * *", "Europe/Berlin", "2026-03-28T12:00", ["2026-03-29T01:00", "2026-03-30T00:00"]),
        # 02:30 comes twice on 25 October 2026 in Berlin: it runs the first time, once.
        ("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00", ["2026-10-25T00:30", "2026-10-26T01:30"]),
        # Asked between the two, it has run already.
        ("30 2 * * *", "Europe/Berlin", "2026-10-25T00:45", ["2026-10-26T01:30", "2026-10-27T01:30"]),
        ("30 2 * * *", "Europe/Berlin", "2026-10-25T01:10", ["2026-10-26T01:30", "2026-10-27T01:30"]),
        # Half an hour of summer time.
        ("15 2 * * *", "Australia/Lord_Howe", "2026-10-03T10:00", ["2026-10-03T15:30", "2026-10-04T15:15"]),
        # At midnight no clock is set back here; a zone where it is skipped.
        ("0 0 * * *", "Africa/Cairo", "2026-04-23T12:00", ["2026-04-23T22:00", "2026-04-24T21:00"]),
        # What goes by elapsed time does so while clocks are set.
        ("0 * * * *", "Europe/Berlin", "2026-10-24T23:30", ["2026-10-25T00:00", "2026-10-25T01:00"]),
        ("0 9 29 2 *", "UTC", "2026-01-01T00:00", ["2028-02-29T09:00", "2032-02-29T09:00"]),
    ],
)
def test_a_plan_is_kept_by_the_clock_of_its_zone(cron: str, zone: str, after: str, expected: list[str]) -> None:
    assert list(islice(times_after(cron, zone, utc_moment(after)), 2)) == [utc_moment(text) for text in expected]


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "Africa/Cairo", "America/Santiago", "UTC"])
@pytest.mark.parametrize("cron", ["30 0 * * *", "30 1 * * *", "30 2 * * *", "0 3 * * *"])
def test_a_daily_plan_runs_once_on_every_day_of_the_year(cron: str, zone: str) -> None:
    times = list(islice(times_after(cron, zone, utc_moment("2025-12-31T23:59")), 365))
    assert len(set(times)) == 365
    assert all(timedelta(hours=22) < later - before < timedelta(hours=26) for before, later in pairwise(times))


@pytest.mark.parametrize(
    ("cron", "message"),
    [
        ("", "five fields"),
        ("* * * * * *", "five fields"),
        ("61 * * * *", "Bad minute"),
        ("0 0 31 2 *", "Bad day-of-month"),
        ("0 0 * 2 MON#6", "Bad day-of-week"),
        ("* * * * *", "at 00:01 and at 00:02"),
        ("58,2 23,0 * * *", "5 minutes"),
        ("0 0 * 2 MON#5,TUE#5", ""),
        ("*/5 * * * *", ""),
        ("0 9 * * MON-FRI", ""),
    ],
)
def test_an_expression_that_plans_nothing_or_too_much_is_refused_in_words(cron: str, message: str) -> None:
    assert message in cron_flaw(cron)
    assert bool(cron_flaw(cron)) == bool(message)


def test_a_day_that_never_comes_is_no_plan() -> None:
    assert "This date never occurs" in cron_flaw("0 0 */40 * MON#5")


def test_a_time_that_is_noticed_soon_runs_and_nothing_was_missed() -> None:
    due = find_due_run("0 23 * * *", "UTC", utc_moment("2026-01-10T23:00"), utc_moment("2026-01-10T23:00:04"), SKIP)
    assert (due.latest, due.runs, due.missed) == (utc_moment("2026-01-10T23:00"), True, 0)
    assert (
        due.next_run_at
        == utc_moment("2026-01-11T23:00")
        == next_time("0 23 * * *", "UTC", utc_moment("2026-01-10T23:00:04"))
    )


@pytest.mark.parametrize(("policy", "runs", "missed"), [(SKIP, False, 3), (ONCE, True, 2)])
def test_times_that_nobody_noticed_are_skipped_or_made_up_for_once(policy: str, runs: bool, missed: int) -> None:
    due = find_due_run("0 23 * * *", "UTC", utc_moment("2026-01-10T23:00"), utc_moment("2026-01-13T08:00"), policy)
    assert (due.latest, due.runs, due.missed) == (utc_moment("2026-01-12T23:00"), runs, missed)
    assert due.next_run_at == utc_moment("2026-01-13T23:00")


def test_the_latest_time_runs_where_only_those_before_it_were_missed() -> None:
    due = find_due_run("0 * * * *", "UTC", utc_moment("2026-01-10T08:00"), utc_moment("2026-01-10T11:02"), SKIP)
    assert (due.latest, due.runs, due.missed) == (utc_moment("2026-01-10T11:00"), True, 3)


def test_a_worker_that_was_off_for_a_year_counts_to_an_end() -> None:
    due = find_due_run("*/5 * * * *", "UTC", utc_moment("2025-01-10T08:00"), utc_moment("2026-01-10T11:02"), SKIP)
    assert (due.runs, due.missed, due.next_run_at) == (False, MAX_MISSED_COUNTED, utc_moment("2026-01-10T11:05"))


def test_what_an_agent_is_told_that_begins_by_itself_stands_in_the_golden_file() -> None:
    # R120, R121
    task = ScheduledTask(
        "Daily reflection", utc_moment("2026-01-10T23:00"), "Reflect", "## Procedure\n1. Read the day.\n", "Be brief."
    )
    assert render_scheduled_task(task) + "\n" == GOLDEN.read_text("utf-8")


def test_the_preamble_can_be_the_owners_own() -> None:
    task_text = render_scheduled_task(
        ScheduledTask("Reflection", utc_moment("2026-01-10T23:00"), "Reflect", "Read.", preamble="It is night.")
    )
    assert task_text.startswith("It is night.\n\nSchedule: Reflection. Planned for ")
    assert NOTHING_TO_REPORT not in task_text


@pytest.mark.parametrize("text", ["", " \n", NOTHING_TO_REPORT, f" {NOTHING_TO_REPORT}\n"])
def test_the_agreed_words_alone_say_that_there_is_nothing(text: str) -> None:
    assert reports_nothing(text)


@pytest.mark.parametrize("text", ["Nothing to report", f"{NOTHING_TO_REPORT} but the heat", "All is well."])
def test_whatever_stands_beside_them_is_a_report(text: str) -> None:
    assert not reports_nothing(text)
