"""The planned times of a schedule, and the handling of missed times; pure.

If a clock change skips a local time, the schedule runs right after the change. If a local time occurs twice, the schedule runs
only the first time. Schedules that run every hour or minute follow elapsed time instead, as with Debian's cron.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice, takewhile
from typing import Final
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

CRON_CHARACTERS = 120
INSTRUCTION_CHARACTERS = 2_000
SCHEDULES_PER_AGENT = 20
SHORTEST_INTERVAL: Final = timedelta(minutes=5)
# A planned time counts as missed if the run would start later than this, since people expect the result at the planned time.
GRACE: Final = timedelta(minutes=5)
# The number of planned times whose intervals are checked, and the most missed times that are counted.
INTERVALS_CHECKED: Final = 60
MAX_MISSED_COUNTED: Final = 1_000

# Channels of the product itself, on which nobody reads a posted message.
PRODUCT_CHANNELS: Final = frozenset({"agent", "console", "playground", "schedule"})

SKIP = "skip"
ONCE = "once"

CRON_HELP: Final = "Write five fields: minute, hour, day of the month, month, day of the week, such as 0 23 * * *."


@dataclass(frozen=True, slots=True)
class DueRun:
    """What is due: the planned time to run, if any; the number of missed times; and the next planned time."""

    latest: datetime
    runs: bool
    missed: int
    next_run_at: datetime


def times_after(cron: str, timezone: str, after: datetime) -> Iterator[datetime]:
    """Yield the planned times after a moment, in UTC."""
    start = after.astimezone(ZoneInfo(timezone)).replace(microsecond=0)
    for planned in CronSim(cron, start):
        at = planned.astimezone(UTC)
        # When clocks are set back, the first occurrence of a local time may already be in the past.
        if at > after:
            yield at


def cron_flaw(cron: str) -> str:
    """Return the flaw of a cron expression; empty if it is valid."""
    if len(cron.split()) != 5:
        return CRON_HELP
    try:
        return _interval_flaw(cron)
    except CronSimError as error:
        return f"{error}. {CRON_HELP}"


def _interval_flaw(cron: str) -> str:
    times = times_after(cron, "UTC", datetime(2024, 1, 1, tzinfo=UTC))
    before: datetime | None = None
    for _, at in zip(range(INTERVALS_CHECKED), times, strict=False):
        if before and at - before < SHORTEST_INTERVAL:
            return (
                f"It would run at {before:%H:%M} and at {at:%H:%M}."
                f" Two runs must be at least {SHORTEST_INTERVAL.seconds // 60} minutes apart."
            )
        before = at
    return "" if before else f"This date never occurs. {CRON_HELP}"


def next_time(cron: str, timezone: str, after: datetime) -> datetime:
    """Return the next planned time."""
    return next(times_after(cron, timezone, after))


def find_due_run(cron: str, timezone: str, planned: datetime, now: datetime, missed_runs: str) -> DueRun:
    """Decide what to run at `now`, given the next planned time `planned` and the setting for missed times."""
    since = takewhile(lambda at: at <= now, times_after(cron, timezone, planned))
    passed = [planned, *islice(since, MAX_MISSED_COUNTED - 1)]
    runs = missed_runs == ONCE or now - passed[-1] <= GRACE
    return DueRun(passed[-1], runs, len(passed) - 1 if runs else len(passed), next_time(cron, timezone, now))
