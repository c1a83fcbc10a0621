"""`python -m benchmarks.chaos.skewed_clock_worker SECONDS ...`: a Celery worker whose clock is so many seconds off."""

import runpy
import sys
import time
from datetime import timedelta

from django.utils import timezone


def set_clock(ahead_seconds: float) -> None:
    """Shift the current time of this process; elapsed time stays right."""
    true_time, true_now = time.time, timezone.now
    time.time = lambda: true_time() + ahead_seconds
    timezone.now = lambda: true_now() + timedelta(seconds=ahead_seconds)


if __name__ == "__main__":
    set_clock(float(sys.argv.pop(1)))
    # Imported here, because an imported module keeps the clock it was imported with.
    runpy.run_module("celery", run_name="__main__", alter_sys=True)
