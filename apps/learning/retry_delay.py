"""The delay before learning retries a failed model call."""

# The delays after a failed model call, and the number of failures after which there is no retry.
FIRST_WAIT_SECONDS = 60.0
LONGEST_WAIT_SECONDS = 3600.0
MOST_FAILURES = 30


def retry_delay_seconds(failures: int, asked_seconds: float | None, jitter: float) -> float:
    """Return the seconds until the next attempt, doubling from a minute to an hour; `jitter` subtracts up to half.

    The delay is never shorter than the endpoint asks for, up to an hour.
    """
    ours = min(LONGEST_WAIT_SECONDS, FIRST_WAIT_SECONDS * 2.0 ** min(max(failures, 1) - 1, 10))
    asked = asked_seconds if asked_seconds is not None and asked_seconds > 0 else 0.0
    return max(ours * (1 - jitter / 2), min(asked, LONGEST_WAIT_SECONDS))
