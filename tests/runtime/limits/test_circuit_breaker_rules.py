"""A failing endpoint is left alone for a while, and one call looks whether it is back."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from apps.runtime.limits.circuit_breaker import (
    LONGEST_OPEN_SECONDS,
    PROBE_TIMEOUT,
    Breaker,
    BreakerState,
    BreakerVerdict,
    CallPermission,
    after_failure,
    after_success,
    judge_call,
)

pytestmark = [pytest.mark.pure, pytest.mark.kernel]

NOW = datetime(2026, 5, 9, 12, tzinfo=UTC)


def seconds_later(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def half_open_breaker(breaker: Breaker, now: datetime) -> Breaker:
    """The breaker as the database leaves it when a turn begins its probe."""
    return replace(breaker, state=BreakerState.HALF_OPEN, opened_until=now + PROBE_TIMEOUT)


def breaker_after_calls(*, failures: int, successes: int, now: datetime = NOW) -> Breaker:
    """Successes first, so that only the last failure may open it."""
    breaker = Breaker()
    for _ in range(successes):
        breaker = after_success(breaker, now)
    for _ in range(failures):
        breaker = after_failure(breaker, now, True)
    return breaker


@pytest.mark.parametrize(
    ("failures", "successes", "state"),
    [
        (10, 10, BreakerState.OPEN),
        (20, 0, BreakerState.OPEN),
        (10, 11, BreakerState.CLOSED),
        (19, 0, BreakerState.CLOSED),
        (9, 11, BreakerState.CLOSED),
    ],
)
def test_half_of_twenty_calls_must_fail(failures: int, successes: int, state: BreakerState) -> None:
    assert breaker_after_calls(failures=failures, successes=successes).state is state


def test_what_failed_more_than_a_minute_ago_is_forgotten() -> None:
    breaker = breaker_after_calls(failures=19, successes=0)
    assert after_failure(breaker, seconds_later(59.9), True).state is BreakerState.OPEN
    late = after_failure(breaker, seconds_later(60), True)
    assert late == Breaker(failures=1, calls=1, window_started_at=seconds_later(60))
    assert after_success(breaker, seconds_later(60)) == Breaker(calls=1, window_started_at=seconds_later(60))


def test_a_refusal_shows_that_the_endpoint_answers() -> None:
    breaker = Breaker()
    for _ in range(100):
        breaker = after_failure(breaker, NOW, False)
    assert breaker == Breaker(calls=100, window_started_at=NOW)
    probed = half_open_breaker(breaker_after_calls(failures=20, successes=0), seconds_later(15))
    assert after_failure(probed, seconds_later(16), False, is_probe=True) == Breaker()


def test_nobody_calls_while_it_is_open_and_one_looks_afterwards() -> None:
    assert judge_call(Breaker(), NOW) == BreakerVerdict(CallPermission.CALL)
    opened = breaker_after_calls(failures=20, successes=0)
    assert judge_call(opened, seconds_later(14.9)) == BreakerVerdict(CallPermission.WAIT, seconds_later(15))
    assert judge_call(opened, seconds_later(15)) == BreakerVerdict(CallPermission.PROBE)
    probed = half_open_breaker(opened, seconds_later(15))
    assert judge_call(probed, seconds_later(15)) == BreakerVerdict(
        CallPermission.WAIT, seconds_later(15) + PROBE_TIMEOUT
    )


def test_a_probe_that_died_with_its_worker_is_followed_by_another() -> None:
    probed = half_open_breaker(breaker_after_calls(failures=20, successes=0), seconds_later(15))
    assert judge_call(probed, seconds_later(15) + PROBE_TIMEOUT) == BreakerVerdict(CallPermission.PROBE)


def test_a_successful_probe_closes_it() -> None:
    probed = half_open_breaker(breaker_after_calls(failures=20, successes=0), seconds_later(15))
    assert after_success(probed, seconds_later(16), is_probe=True) == Breaker()


def test_each_failed_probe_doubles_the_wait_up_to_four_minutes() -> None:
    breaker, now, waits = breaker_after_calls(failures=20, successes=0), NOW, []
    for _ in range(7):
        assert breaker.opened_until is not None
        waits.append((breaker.opened_until - now).total_seconds())
        now = breaker.opened_until
        breaker = after_failure(half_open_breaker(breaker, now), now, True, is_probe=True)
    assert waits == [15, 30, 60, 120, 240, 240, 240]
    assert waits[-1] == LONGEST_OPEN_SECONDS
    healed = after_success(half_open_breaker(breaker, now), now, is_probe=True)
    assert breaker_after_calls(failures=20, successes=0, now=now).opened_for_seconds == 15
    assert healed.opened_for_seconds == 0


def test_calls_that_began_before_it_opened_change_nothing() -> None:
    opened = breaker_after_calls(failures=20, successes=0)
    probed = half_open_breaker(opened, seconds_later(15))
    for breaker in (opened, probed):
        assert after_failure(breaker, seconds_later(20), True) == breaker
        assert after_failure(breaker, seconds_later(20), False) == breaker
        assert after_success(breaker, seconds_later(20)) == breaker


def test_a_probe_that_fails_after_another_one_closed_it_counts_as_a_call() -> None:
    assert after_failure(Breaker(), NOW, True, is_probe=True) == Breaker(failures=1, calls=1, window_started_at=NOW)


def test_a_probe_that_fails_after_another_one_did_opens_it_no_longer() -> None:
    opened = breaker_after_calls(failures=20, successes=0)
    assert after_failure(opened, seconds_later(80), True, is_probe=True) == opened
