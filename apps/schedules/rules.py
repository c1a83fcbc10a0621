"""When a schedule runs, and what becomes of times that passed unnoticed; pure.

A time that the clocks skip runs right after; one that they show twice runs once, the first time. An hourly or minutely
schedule goes by elapsed time instead, as with Debian's cron.
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
# Noticed later than this, a time counts as missed: whoever reads the result at nine wants it at nine.
GRACE: Final = timedelta(minutes=5)
# Times looked at to see how close they lie, and counted at most where many were missed.
INTERVALS_CHECKED: Final = 60
MAX_MISSED_COUNTED: Final = 1_000

# Channels on which nobody is who could be told: the product keeps them for itself.
PRODUCT_CHANNELS: Final = frozenset({"agent", "console", "playground", "schedule"})

SKIP = "skip"
ONCE = "once"

CRON_HELP: Final = "Write five fields: minute, hour, day of the month, month, day of the week, such as 0 23 * * *."


@dataclass(frozen=True, slots=True)
class DueRun:
    """What a look at the clock found: the planned time that is run, if any; how many were missed; and the next one."""

    latest: datetime
    runs: bool
    missed: int
    next_run_at: datetime


def times_after(cron: str, timezone: str, after: datetime) -> Iterator[datetime]:
    """The planned times behind a moment, in UTC."""
    start = after.astimezone(ZoneInfo(timezone)).replace(microsecond=0)
    for planned in CronSim(cron, start):
        at = planned.astimezone(UTC)
        # Where clocks are set back, the first reading of a time may lie behind us already.
        if at > after:
            yield at


def cron_flaw(cron: str) -> str:
    """Why an expression is no plan; empty if it is one."""
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
                f"It would run at {before:%H:%M} and at {at:%H:%M}; between two runs lie {SHORTEST_INTERVAL.seconds // 60} minutes"
                " at least."
            )
        before = at
    return "" if before else f"No such day comes. {CRON_HELP}"


def next_time(cron: str, timezone: str, after: datetime) -> datetime:
    """The planned time that comes next."""
    return next(times_after(cron, timezone, after))


def find_due_run(cron: str, timezone: str, planned: datetime, now: datetime, missed_runs: str) -> DueRun:
    """What to do at `now` about a plan whose next time was `planned`, and with the times since that nobody noticed."""
    since = takewhile(lambda at: at <= now, times_after(cron, timezone, planned))
    passed = [planned, *islice(since, MAX_MISSED_COUNTED - 1)]
    runs = missed_runs == ONCE or now - passed[-1] <= GRACE
    return DueRun(passed[-1], runs, len(passed) - 1 if runs else len(passed), next_time(cron, timezone, now))
