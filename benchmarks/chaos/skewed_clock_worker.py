"""`python -m benchmarks.chaos.skewed_clock_worker SECONDS ...`: a Celery worker whose clock is so many seconds off."""

import runpy
import sys
import time
from datetime import timedelta

from django.utils import timezone


def set_clock(ahead_seconds: float) -> None:
    """From here on this process takes another time for now; the time that passes stays right."""
    true_time, true_now = time.time, timezone.now
    time.time = lambda: true_time() + ahead_seconds
    timezone.now = lambda: true_now() + timedelta(seconds=ahead_seconds)


if __name__ == "__main__":
    set_clock(float(sys.argv.pop(1)))
    # Not imported above: what is imported takes its clock along.
    runpy.run_module("celery", run_name="__main__", alter_sys=True)
