"""The beat's alarms, as the database remembers them: the broker cannot say what never came.

The beat notes at its start what stands in its table, a worker notes that it was woken. So an alarm is overdue when either of
them is away, or the broker between them.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from django.conf import settings
from django.db import connection

from apps.runtime.models import PeriodicTask
from config.beat_schedule import LONGEST_EXPIRY_SECONDS

# A worker that is busy for a moment is not late.
LEAST_PATIENCE: Final = timedelta(minutes=2)

_REGISTER_TASKS: Final = """
INSERT INTO runtime_periodictask AS known (task, interval_seconds, registered_at)
SELECT task, interval_seconds, statement_timestamp() FROM unnest(%s::text[], %s::float8[]) AS entry(task, interval_seconds)
ON CONFLICT (task) DO UPDATE SET interval_seconds = excluded.interval_seconds
 WHERE known.interval_seconds <> excluded.interval_seconds
"""
_RECORD_RUN: Final = """
INSERT INTO runtime_periodictask AS known (task, interval_seconds, registered_at, last_run_at)
VALUES (%s, %s, statement_timestamp(), statement_timestamp())
ON CONFLICT (task) DO UPDATE SET last_run_at = excluded.last_run_at
"""


@dataclass(frozen=True, slots=True)
class BeatEntry:
    """An alarm of this installation; `registered_at` is None where no beat was ever started with it."""

    task: str
    every: timedelta
    registered_at: datetime | None
    last_run_at: datetime | None

    def overdue(self, now: datetime) -> timedelta | None:
        """For how long it should have rung; None where that moment lies ahead, or nobody set it."""
        since = self.last_run_at or self.registered_at
        late = now - since - self.every if since else None
        return late if late and late > timedelta(0) else None

    def is_late(self, now: datetime) -> bool:
        """Whether a message would by now have been dropped untaken, or nobody ever set it."""
        if self.registered_at is None:
            return True
        patience = max(min(self.every, timedelta(seconds=LONGEST_EXPIRY_SECONDS)), LEAST_PATIENCE)
        return (self.overdue(now) or timedelta(0)) > patience


def beat_intervals() -> dict[str, float]:
    """What should ring in this installation, and how often, in seconds."""
    entries: Iterable[Mapping[str, Any]] = settings.CELERY_BEAT_SCHEDULE.values()
    return {entry["task"]: float(entry["schedule"]) for entry in entries}


def register_beat_tasks() -> None:
    """What the beat that starts now will ring. What it rang before stays known."""
    entries = beat_intervals()
    with connection.cursor() as cursor:
        cursor.execute(_REGISTER_TASKS, [list(entries), list(entries.values())])


def record_run(task: str) -> None:
    """A worker was woken; other tasks than the beat's are none of its alarms."""
    interval_seconds = beat_intervals().get(task)
    if interval_seconds is not None:
        with connection.cursor() as cursor:
            cursor.execute(_RECORD_RUN, [task, interval_seconds])


def beat_entries() -> list[BeatEntry]:
    """Every alarm of this installation, whether or not it ever rang. Asked outside a tenant."""
    known = {alarm.task: alarm for alarm in PeriodicTask.objects.all()}
    return [_beat_entry(task, seconds, known.get(task)) for task, seconds in sorted(beat_intervals().items())]


def _beat_entry(task: str, seconds: float, alarm: PeriodicTask | None) -> BeatEntry:
    every = timedelta(seconds=seconds)
    return (
        BeatEntry(task, every, alarm.registered_at, alarm.last_run_at) if alarm else BeatEntry(task, every, None, None)
    )
