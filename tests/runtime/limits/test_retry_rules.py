"""Failed calls come back later and later and not together, and only an endpoint's own failures count against it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.llm.model_backend import BackendError
from apps.runtime.limits.retry_delay import LONGEST_ASKED_SECONDS, LONGEST_SECONDS, counts_against_endpoint, retry_delay

pytestmark = [pytest.mark.pure, pytest.mark.kernel]

JITTER = st.floats(0, 1, exclude_max=True)


@pytest.mark.parametrize(
    ("tries", "asked", "jitter", "seconds"),
    [
        (1, None, 0.0, 1),
        (1, None, 0.5, 1.5),
        (2, None, 0.0, 2),
        (5, None, 0.0, 16),
        (6, None, 0.0, 30),
        (100_000, None, 0.5, 45),
        (1, 7.5, 0.0, 7.5),
        (1, 8.0, 0.5, 9),
        (6, 1.0, 0.0, 30),
        (1, 300.0, 0.0, 300),
        (1, 300.0, 0.5, 337.5),
        (1, 9999.0, 0.0, 600),
        (1, float("inf"), 0.0, 600),
        (1, float("nan"), 0.0, 1),
        (1, -5.0, 0.0, 1),
    ],
)
def test_the_next_try_waits_longer_and_never_absurdly(
    tries: int, asked: float | None, jitter: float, seconds: float
) -> None:
    assert retry_delay(tries, asked, jitter) == seconds


@given(st.integers(0, 50), st.none() | st.floats(), JITTER)
def test_no_wait_is_shorter_than_asked_or_much_longer_than_a_minute_unasked(
    tries: int, asked: float | None, jitter: float
) -> None:
    # R131
    delay = retry_delay(tries, asked, jitter)
    assert 0.5 <= delay <= 1.25 * LONGEST_ASKED_SECONDS
    if asked is None or not asked > LONGEST_SECONDS:
        assert delay <= 1.25 * LONGEST_SECONDS
    if asked is not None and 0 <= asked <= LONGEST_ASKED_SECONDS:
        assert delay >= asked


@given(st.integers(1, 9), st.floats(0, 60), JITTER, JITTER)
def test_turns_refused_together_come_back_apart(tries: int, asked: float, one: float, other: float) -> None:
    assert (retry_delay(tries, asked, one) - retry_delay(tries, asked, other)) * (one - other) >= 0
    assert retry_delay(tries, asked, 0.99) > retry_delay(tries, asked, 0.0)


def test_every_error_of_a_backend_is_the_endpoints_fault_or_not() -> None:
    errors = BackendError.__subclasses__()
    codes = {error.code for error in errors if error.__module__ == BackendError.__module__}
    assert {code for code in codes if counts_against_endpoint(code)} == {
        "overloaded",
        "server_fault",
        "timed_out",
        "connection_lost",
        "malformed_reply",
    }
    assert {code for code in codes if not counts_against_endpoint(code)} == {
        "rate_limited",
        "spend_limit_reached",
        "not_authorised",
        "endpoint_refused",
        "context_exceeded",
        "bad_request",
        "unknown_stop_reason",
    }
