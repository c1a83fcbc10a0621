"""When calls of a failing endpoint are held back, and when one of them may try again; pure."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

WINDOW = timedelta(seconds=60)
CALLS_TO_JUDGE = 20
OPENS_AT_SHARE = 0.5
OPEN_SECONDS = 15
LONGEST_OPEN_SECONDS = 240
# A probe that has not come back by then died with its worker; another one may go.
PROBE_TIMEOUT = timedelta(seconds=60)


class BreakerState(StrEnum):
    """Closed lets every call pass, open none, half open the one that looks whether the endpoint is back."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


@dataclass(frozen=True, slots=True)
class Breaker:
    """What is known of one endpoint and model. `opened_until` is, while half open, how long the probe is waited for."""

    state: BreakerState = BreakerState.CLOSED
    failures: int = 0
    calls: int = 0
    window_started_at: datetime | None = None
    opened_until: datetime | None = None
    opened_for_seconds: int = 0


class CallPermission(StrEnum):
    """What a turn may do with its next call."""

    CALL = "call"
    PROBE = "probe"
    WAIT = "wait"


@dataclass(frozen=True, slots=True)
class BreakerVerdict:
    """Whether to call now; `until` says when to ask again."""

    permission: CallPermission
    until: datetime | None = None


def judge_call(breaker: Breaker, now: datetime) -> BreakerVerdict:
    """A turn that may probe marks the breaker half open in the database before its call, so that no other turn probes."""
    if breaker.state is BreakerState.CLOSED:
        return BreakerVerdict(CallPermission.CALL)
    if breaker.opened_until is not None and now < breaker.opened_until:
        return BreakerVerdict(CallPermission.WAIT, breaker.opened_until)
    return BreakerVerdict(CallPermission.PROBE)


def after_failure(breaker: Breaker, now: datetime, is_counted: bool, *, is_probe: bool = False) -> Breaker:
    """The breaker after a call failed. What is not counted shows that the endpoint answers, as a success does.

    Once it has opened, only the probe says anything: other calls that come back now began before.
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
    """The breaker after the endpoint answered; the probe's answer closes it, and all that was counted is forgotten."""
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
