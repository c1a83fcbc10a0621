"""When tiers of memory are distilled, and how much of the session log is SHORT."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.learning.memory_tiers import BUDGET_TOKENS, LogLine, Switches, Tier, due_tiers, is_held, short_tier
from apps.llm.tokens import estimate_tokens

# A Saturday.
NOW = datetime(2026, 5, 9, 12, tzinfo=UTC)
BERLIN = "Europe/Berlin"
ALL = Switches(long=True)


def due(last: dict[Tier, datetime], now: datetime, timezone: str = "UTC", switches: Switches = ALL) -> list[Tier]:
    return list(due_tiers(last, NOW, now, timezone=timezone, switches=switches))


def test_the_log_is_told_by_days_of_the_tenants_calendar_in_its_order() -> None:
    # R169, R170
    lines = [
        LogLine(NOW, "Ada asked  for\na refund."),
        LogLine(NOW - timedelta(days=1), "Nothing much."),
        LogLine(NOW.replace(hour=23), "Late call."),
        LogLine(NOW, "Secret.", is_off_the_record=True),
    ]
    assert short_tier(lines, BERLIN) == (
        "## 2026-05-08\n- Nothing much.\n\n## 2026-05-09\n- Ada asked for a refund.\n\n## 2026-05-10\n- Late call."
    )
    assert short_tier([], BERLIN) == ""


def test_the_most_recent_that_fits_is_kept() -> None:
    # R170
    lines = [LogLine(NOW - timedelta(hours=number), f"Line {number}.") for number in range(1_000)]
    short = short_tier(lines, "UTC", budget_tokens=20)
    assert short == "## 2026-05-09\n- Line 5.\n- Line 4.\n- Line 3.\n- Line 2.\n- Line 1.\n- Line 0."
    assert short_tier(lines, "UTC", budget_tokens=1) == ""


def test_a_line_that_is_too_long_is_cut_and_hides_nothing_before_it() -> None:
    lines = [LogLine(NOW - timedelta(hours=1), "Before."), LogLine(NOW, "ä" * 100_000)]
    short = short_tier(lines, "UTC")
    assert "Before." in short
    assert estimate_tokens(short) < 300


@given(st.lists(st.tuples(st.integers(-5_000_000, 5_000_000), st.text(max_size=200)), max_size=60), st.integers(0, 500))
def test_short_never_exceeds_its_budget_and_drops_the_oldest_first(pairs: list[tuple[int, str]], budget: int) -> None:
    # R173
    lines = [LogLine(NOW + timedelta(seconds=seconds), text) for seconds, text in pairs]
    short = short_tier(lines, BERLIN, budget)
    assert estimate_tokens(short) <= budget
    kept = short.count("\n- ") if short else 0
    latest = sorted(lines, key=lambda each: each.at)[len(lines) - kept :]
    assert short == short_tier(latest, BERLIN, budget)


@pytest.mark.parametrize(
    ("now", "tiers"),
    [
        ("2026-05-10T02:59", []),
        ("2026-05-10T03:00", [Tier.SHORT]),
        ("2026-05-10T03:30", [Tier.SHORT, Tier.MID]),
        ("2026-06-01T04:00", [Tier.SHORT, Tier.MID, Tier.LONG]),
    ],
)
def test_each_tier_is_due_by_the_tenants_clock(now: str, tiers: list[Tier]) -> None:
    # R170, R171, R172
    moment = datetime.fromisoformat(now).replace(tzinfo=ZoneInfo(BERLIN))
    assert due({}, moment, BERLIN) == tiers


def test_a_tier_that_ran_is_due_again_at_its_next_time() -> None:
    ran = datetime(2026, 5, 10, 3, 30, tzinfo=UTC)
    assert due({Tier.SHORT: ran, Tier.MID: ran}, ran) == []
    assert due({Tier.SHORT: ran, Tier.MID: ran}, ran + timedelta(days=6)) == [Tier.SHORT]
    assert due({Tier.SHORT: ran, Tier.MID: ran}, ran + timedelta(days=7)) == [Tier.SHORT, Tier.MID]


def test_times_that_were_missed_are_made_up_for_once() -> None:
    later = NOW + timedelta(days=100)
    assert due({}, later) == [Tier.SHORT, Tier.MID, Tier.LONG]
    assert due(dict.fromkeys(Tier, later), later) == []


@pytest.mark.parametrize(
    ("switches", "tiers"),
    [
        (Switches(), [Tier.SHORT, Tier.MID]),
        (Switches(long=True), [Tier.SHORT, Tier.MID, Tier.LONG]),
        (Switches(short=False, mid=False), []),
        (Switches(auto=False, long=True), []),
    ],
)
def test_switches_turn_tiers_off_and_long_is_off_until_somebody_wants_it(switches: Switches, tiers: list[Tier]) -> None:
    # R174
    assert due({}, NOW + timedelta(days=60), switches=switches) == tiers


def test_only_the_first_run_of_long_waits_for_a_person() -> None:
    # R174
    assert {(tier, runs) for tier in Tier for runs in (0, 1) if is_held(tier, runs)} == {(Tier.LONG, 0)}


def test_budgets_are_those_of_the_source() -> None:
    # R173
    assert BUDGET_TOKENS == {Tier.SHORT: 3_000, Tier.MID: 2_000, Tier.LONG: 2_000}
