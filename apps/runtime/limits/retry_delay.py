"""The delay before the retry of a failed model call, and which failures count against the endpoint; pure."""

from math import isnan
from typing import Final

from apps.llm.model_backend import (
    BackendError,
    ConnectionLost,
    MalformedReply,
    Overloaded,
    ServerFault,
    TimedOut,
)

LONGEST_SECONDS = 60.0
# The longest delay that an endpoint's header can cause, since a header may contain any number.
LONGEST_ASKED_SECONDS = 600.0
# Many turns get the same delay from the endpoint. If all retried at the same time, all would be refused again.
SPREAD_OVER_ASKED = 0.25

_FAULTS: Final[tuple[type[BackendError], ...]] = (Overloaded, ServerFault, TimedOut, ConnectionLost, MalformedReply)
_FAULT_CODES: Final = frozenset(fault.code for fault in _FAULTS)


def retry_delay(tries: int, asked_seconds: float | None, jitter: float) -> float:
    """Seconds to wait after `tries` failed calls: doubled each time, up to a minute, and spread by `jitter` in [0, 1).

    The delay is never shorter than the endpoint asks for, up to ten minutes.
    """
    ours = (0.5 + jitter / 2) * min(LONGEST_SECONDS, 2.0 ** min(tries, 10))
    return max(ours, _bounded_seconds(asked_seconds) * (1 + SPREAD_OVER_ASKED * jitter))


def counts_against_endpoint(error_code: str) -> bool:
    """Whether the endpoint itself failed. An endpoint that refuses a call (rate limit, billing, key, bad request) works."""
    return error_code in _FAULT_CODES


def _bounded_seconds(asked_seconds: float | None) -> float:
    """The delay from a header, limited to a sensible range. The value may be missing, not a number, negative or very large."""
    if asked_seconds is None or isnan(asked_seconds):
        return 0.0
    return min(max(asked_seconds, 0.0), LONGEST_ASKED_SECONDS)
