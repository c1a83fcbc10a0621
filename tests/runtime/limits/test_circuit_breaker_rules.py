"""A failing endpoint is left alone for a while, and one call looks whether it is back."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from apps.runtime.limits.circuit_breaker import (
    LONGEST_OPEN_SECONDS,
    PROBE,
    Breaker,
    Permission,
    State,
    Verdict,
    after_failure,
    after_success,
    may_call,
)

pytestmark = [pytest.mark.pure, pytest.mark.kernel]

NOW = datetime(2026, 5, 9, 12, tzinfo=UTC)


def after(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def began_probe(breaker: Breaker, now: datetime) -> Breaker:
    """The breaker as the database leaves it when a turn begins its probe."""
    return replace(breaker, state=State.HALF_OPEN, opened_until=now + PROBE)


def called(*, failures: int, successes: int, now: datetime = NOW) -> Breaker:
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
        (10, 10, State.OPEN),
        (20, 0, State.OPEN),
        (10, 11, State.CLOSED),
        (19, 0, State.CLOSED),
        (9, 11, State.CLOSED),
    ],
)
def test_half_of_twenty_calls_must_fail(failures: int, successes: int, state: State) -> None:
    assert called(failures=failures, successes=successes).state is state


def test_what_failed_more_than_a_minute_ago_is_forgotten() -> None:
    breaker = called(failures=19, successes=0)
    assert after_failure(breaker, after(59.9), True).state is State.OPEN
    late = after_failure(breaker, after(60), True)
    assert late == Breaker(failures=1, calls=1, window_started_at=after(60))
    assert after_success(breaker, after(60)) == Breaker(calls=1, window_started_at=after(60))


def test_a_refusal_shows_that_the_endpoint_answers() -> None:
    breaker = Breaker()
    for _ in range(100):
        breaker = after_failure(breaker, NOW, False)
    assert breaker == Breaker(calls=100, window_started_at=NOW)
    probed = began_probe(called(failures=20, successes=0), after(15))
    assert after_failure(probed, after(16), False, is_probe=True) == Breaker()


def test_nobody_calls_while_it_is_open_and_one_looks_afterwards() -> None:
    assert may_call(Breaker(), NOW) == Verdict(Permission.CALL)
    opened = called(failures=20, successes=0)
    assert may_call(opened, after(14.9)) == Verdict(Permission.WAIT, after(15))
    assert may_call(opened, after(15)) == Verdict(Permission.PROBE)
    probed = began_probe(opened, after(15))
    assert may_call(probed, after(15)) == Verdict(Permission.WAIT, after(15) + PROBE)


def test_a_probe_that_died_with_its_worker_is_followed_by_another() -> None:
    probed = began_probe(called(failures=20, successes=0), after(15))
    assert may_call(probed, after(15) + PROBE) == Verdict(Permission.PROBE)


def test_a_successful_probe_closes_it() -> None:
    probed = began_probe(called(failures=20, successes=0), after(15))
    assert after_success(probed, after(16), is_probe=True) == Breaker()


def test_each_failed_probe_doubles_the_wait_up_to_four_minutes() -> None:
    breaker, now, waits = called(failures=20, successes=0), NOW, []
    for _ in range(7):
        assert breaker.opened_until is not None
        waits.append((breaker.opened_until - now).total_seconds())
        now = breaker.opened_until
        breaker = after_failure(began_probe(breaker, now), now, True, is_probe=True)
    assert waits == [15, 30, 60, 120, 240, 240, 240]
    assert waits[-1] == LONGEST_OPEN_SECONDS
    healed = after_success(began_probe(breaker, now), now, is_probe=True)
    assert called(failures=20, successes=0, now=now).opened_for_seconds == 15
    assert healed.opened_for_seconds == 0


def test_calls_that_began_before_it_opened_change_nothing() -> None:
    opened = called(failures=20, successes=0)
    probed = began_probe(opened, after(15))
    for breaker in (opened, probed):
        assert after_failure(breaker, after(20), True) == breaker
        assert after_failure(breaker, after(20), False) == breaker
        assert after_success(breaker, after(20)) == breaker


def test_a_probe_that_fails_after_another_one_closed_it_counts_as_a_call() -> None:
    assert after_failure(Breaker(), NOW, True, is_probe=True) == Breaker(failures=1, calls=1, window_started_at=NOW)


def test_a_probe_that_fails_after_another_one_did_opens_it_no_longer() -> None:
    opened = called(failures=20, successes=0)
    assert after_failure(opened, after(80), True, is_probe=True) == opened
