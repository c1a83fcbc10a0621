"""When tiers of memory are distilled, and how much of the session log is SHORT."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.learning.distillation.tier_schedule import (
    BUDGET_TOKENS,
    TIER_CRON,
    LogLine,
    Tier,
    TierSettings,
    is_review_needed,
    render_short_tier,
)
from apps.llm.token_estimate import estimate_tokens
from apps.schedules.rules import next_time

pytestmark = [pytest.mark.pure, pytest.mark.kernel]

# A Saturday.
NOW = datetime(2026, 5, 9, 12, tzinfo=UTC)
BERLIN = "Europe/Berlin"


def test_the_log_is_told_by_days_of_the_tenants_calendar_in_its_order() -> None:
    # R169, R170
    lines = [
        LogLine(NOW, "Ada asked  for\na refund."),
        LogLine(NOW - timedelta(days=1), "Nothing much."),
        LogLine(NOW.replace(hour=23), "Late call."),
        LogLine(NOW, "Secret.", is_off_the_record=True),
    ]
    assert render_short_tier(lines, BERLIN) == (
        "## 2026-05-08\n- Nothing much.\n\n## 2026-05-09\n- Ada asked for a refund.\n\n## 2026-05-10\n- Late call."
    )
    assert render_short_tier([], BERLIN) == ""


def test_the_most_recent_that_fits_is_kept() -> None:
    # R170
    lines = [LogLine(NOW - timedelta(hours=number), f"Line {number}.") for number in range(1_000)]
    short = render_short_tier(lines, "UTC", budget_tokens=20)
    assert short == "## 2026-05-09\n- Line 5.\n- Line 4.\n- Line 3.\n- Line 2.\n- Line 1.\n- Line 0."
    assert render_short_tier(lines, "UTC", budget_tokens=1) == ""


def test_a_line_that_is_too_long_is_cut_and_hides_nothing_before_it() -> None:
    lines = [LogLine(NOW - timedelta(hours=1), "Before."), LogLine(NOW, "ä" * 100_000)]
    short = render_short_tier(lines, "UTC")
    assert "Before." in short
    assert estimate_tokens(short) < 300


@given(st.lists(st.tuples(st.integers(-5_000_000, 5_000_000), st.text(max_size=200)), max_size=60), st.integers(0, 500))
def test_short_never_exceeds_its_budget_and_drops_the_oldest_first(pairs: list[tuple[int, str]], budget: int) -> None:
    # R173
    lines = [LogLine(NOW + timedelta(seconds=seconds), text) for seconds, text in pairs]
    short = render_short_tier(lines, BERLIN, budget)
    assert estimate_tokens(short) <= budget
    kept = short.count("\n- ") if short else 0
    latest = sorted(lines, key=lambda each: each.at)[len(lines) - kept :]
    assert short == render_short_tier(latest, BERLIN, budget)


@pytest.mark.parametrize(
    ("tier", "first", "second"),
    [
        (Tier.SHORT, "2026-05-10T03:00", "2026-05-11T03:00"),
        (Tier.MID, "2026-05-10T03:30", "2026-05-17T03:30"),
        (Tier.LONG, "2026-06-01T04:00", "2026-07-01T04:00"),
    ],
)
def test_each_tier_is_planned_by_the_tenants_clock(tier: Tier, first: str, second: str) -> None:
    # R170, R171, R172
    planned = next_time(TIER_CRON[tier], BERLIN, NOW)
    assert planned == datetime.fromisoformat(first).replace(tzinfo=ZoneInfo(BERLIN))
    assert next_time(TIER_CRON[tier], BERLIN, planned) == datetime.fromisoformat(second).replace(
        tzinfo=ZoneInfo(BERLIN)
    )


@pytest.mark.parametrize(
    ("switches", "tiers"),
    [
        (TierSettings(), [Tier.SHORT, Tier.MID]),
        (TierSettings(long=True), [Tier.SHORT, Tier.MID, Tier.LONG]),
        (TierSettings(short=False, mid=False), []),
        (TierSettings(auto=False, long=True), []),
    ],
)
def test_switches_turn_tiers_off_and_long_is_off_until_somebody_wants_it(
    switches: TierSettings, tiers: list[Tier]
) -> None:
    # R174
    assert [tier for tier in Tier if switches.is_on(tier)] == tiers


def test_only_the_first_run_of_long_waits_for_a_person() -> None:
    # R174
    assert {(tier, runs) for tier in Tier for runs in (0, 1) if is_review_needed(tier, runs)} == {(Tier.LONG, 0)}


def test_budgets_are_those_of_the_source() -> None:
    # R173
    assert BUDGET_TOKENS == {Tier.SHORT: 3_000, Tier.MID: 2_000, Tier.LONG: 2_000}
