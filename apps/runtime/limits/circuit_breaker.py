"""Circuit breaker of an endpoint: when failures pause its calls, and when a probe may be sent; pure."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

WINDOW = timedelta(seconds=60)
CALLS_TO_JUDGE = 20
OPENS_AT_SHARE = 0.5
OPEN_SECONDS = 15
LONGEST_OPEN_SECONDS = 240
# A probe that has not returned by then is assumed to have died with its worker, so another probe may be sent.
PROBE_TIMEOUT = timedelta(seconds=60)


class BreakerState(StrEnum):
    """The states: closed allows every call, open allows none, half open allows one probe that tests if the endpoint is back."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


@dataclass(frozen=True, slots=True)
class Breaker:
    """The breaker of one endpoint and model. While half open, `opened_until` is the time by which the probe must return."""

    state: BreakerState = BreakerState.CLOSED
    failures: int = 0
    calls: int = 0
    window_started_at: datetime | None = None
    opened_until: datetime | None = None
    opened_for_seconds: int = 0


class CallPermission(StrEnum):
    """Whether a turn's next model call may be made, may be made as the probe, or has to wait."""

    CALL = "call"
    PROBE = "probe"
    WAIT = "wait"


@dataclass(frozen=True, slots=True)
class BreakerVerdict:
    """The decision on a call; `until` is the time to check again."""

    permission: CallPermission
    until: datetime | None = None


def judge_call(breaker: Breaker, now: datetime) -> BreakerVerdict:
    """Decide on a call. A turn that may probe first marks the breaker half open in the database, so that only one turn probes."""
    if breaker.state is BreakerState.CLOSED:
        return BreakerVerdict(CallPermission.CALL)
    if breaker.opened_until is not None and now < breaker.opened_until:
        return BreakerVerdict(CallPermission.WAIT, breaker.opened_until)
    return BreakerVerdict(CallPermission.PROBE)


def after_failure(breaker: Breaker, now: datetime, is_counted: bool, *, is_probe: bool = False) -> Breaker:
    """Return the breaker after a failed call.

    A failure that does not count against the endpoint is treated as a success, because the endpoint did answer. Once the
    breaker has opened, only the probe's result counts: any other call that returns now was started before it opened.
    """
    if not is_counted:
        return after_success(breaker, now, is_probe=is_probe)
    if breaker.state is BreakerState.CLOSED:
        called = _count_call(breaker, now)
        called = replace(called, failures=called.failures + 1)
        return _open_breaker(called, now) if _is_too_bad(called) else called
    if is_probe and breaker.state is BreakerState.HALF_OPEN:
        return _open_breaker(breaker, now)
    return breaker


def after_success(breaker: Breaker, now: datetime, *, is_probe: bool = False) -> Breaker:
    """The breaker after the endpoint answered. The answer of the probe closes it and resets its counts."""
    if breaker.state is BreakerState.CLOSED:
        return _count_call(breaker, now)
    return Breaker() if is_probe else breaker


def _count_call(breaker: Breaker, now: datetime) -> Breaker:
    if breaker.window_started_at is None or now - breaker.window_started_at >= WINDOW:
        return Breaker(calls=1, window_started_at=now)
    return replace(breaker, calls=breaker.calls + 1)


def _is_too_bad(breaker: Breaker) -> bool:
    return breaker.calls >= CALLS_TO_JUDGE and breaker.failures >= OPENS_AT_SHARE * breaker.calls


def _open_breaker(breaker: Breaker, now: datetime) -> Breaker:
    seconds = min(LONGEST_OPEN_SECONDS, 2 * breaker.opened_for_seconds or OPEN_SECONDS)
    return Breaker(BreakerState.OPEN, opened_until=now + timedelta(seconds=seconds), opened_for_seconds=seconds)
