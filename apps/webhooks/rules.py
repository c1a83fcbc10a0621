"""When a delivery is tried again, when nobody tries any more, and how it is signed; pure."""

import hmac
from collections.abc import Iterable
from enum import StrEnum
from hashlib import sha256
from typing import Final


class Event(StrEnum):
    """What a webhook can ask to be told of."""

    REPLY = "reply"
    DRAFT = "draft"
    ESCALATION = "escalation"
    RESOLVED = "resolved"
    LEARNING_VERSION = "learning_version"
    DISTILLATION = "distillation"
    REVIEW = "review"


# What happens in no conversation.
OF_LEARNING: Final = frozenset({Event.LEARNING_VERSION, Event.DISTILLATION, Event.REVIEW})


# Behind each try, in seconds; behind the last of them nobody tries any more. Together a day and a half.
PAUSES: Final = (5, 30, 120, 600, 1_800, 3_600, 7_200, 14_400, 28_800, 28_800, 43_200)
# A pause is stretched by up to a quarter, so that what failed together does not come back together.
JITTER: Final = 0.25
# So many failures in a row, and a webhook is left alone for a while, whatever waits for it.
FAILURES_IN_A_ROW: Final = 10
REST_SECONDS: Final = 60
LONGEST_REST_SECONDS: Final = 3_600


def pause_behind(tries: int, spread: float, asked_seconds: int = 0) -> float | None:
    """How long to wait behind so many tries; None where that was the last. `spread` is drawn from 0 to 1.

    A server that says itself when to come again is not asked earlier.
    """
    if tries > len(PAUSES):
        return None
    return max(PAUSES[tries - 1] * (1 + JITTER * spread), min(asked_seconds, LONGEST_REST_SECONDS))


def rest_behind(failures: int) -> int:
    """How long a webhook that failed so many times in a row is left alone, in seconds; twice as long each time, up to an hour."""
    if failures < FAILURES_IN_A_ROW:
        return 0
    return int(min(REST_SECONDS << min(failures - FAILURES_IN_A_ROW, 10), LONGEST_REST_SECONDS))


def signature(secrets: Iterable[str], seconds: int, body: bytes) -> str:
    """Who sent it and when, by every secret that holds: `t=...,v1=...`, one v1 for each."""
    signed = str(seconds).encode() + b"." + body
    marks = [f"v1={hmac.new(secret.encode(), signed, sha256).hexdigest()}" for secret in secrets]
    return ",".join([f"t={seconds}", *marks])
