"""How long a failed model call waits for its next try, and whose fault the failure was; pure."""

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
# A header may say a year; nobody waits longer than this because one says so.
LONGEST_ASKED_SECONDS = 600.0
# Many turns are told the same number; coming back together they would all be refused again.
SPREAD_OVER_ASKED = 0.25

_FAULTS: Final[tuple[type[BackendError], ...]] = (Overloaded, ServerFault, TimedOut, ConnectionLost, MalformedReply)
_FAULT_CODES: Final = frozenset(fault.code for fault in _FAULTS)


def retry_delay(tries: int, asked_seconds: float | None, jitter: float) -> float:
    """Seconds until the next try after `tries` failed ones: doubling and spread by `jitter` in [0, 1), up to a minute.

    Never sooner than the endpoint asks for, where that is ten minutes at most.
    """
    ours = (0.5 + jitter / 2) * min(LONGEST_SECONDS, 2.0 ** min(tries, 10))
    return max(ours, _bounded_seconds(asked_seconds) * (1 + SPREAD_OVER_ASKED * jitter))


def counts_against_endpoint(error_code: str) -> bool:
    """Whether the endpoint itself failed. One that refuses (a rate, the money, the key, the request) works."""
    return error_code in _FAULT_CODES


def _bounded_seconds(asked_seconds: float | None) -> float:
    """What a header says may be missing, no number, negative or a year."""
    if asked_seconds is None or isnan(asked_seconds):
        return 0.0
    return min(max(asked_seconds, 0.0), LONGEST_ASKED_SECONDS)
