"""Monitors scheduled jobs through the database, since the broker cannot report a message that was never sent.

Celery beat records its schedule when it starts, and a worker records each run. So a job becomes overdue if beat, the broker or
the workers are down.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from django.conf import settings
from django.db import connection

from apps.runtime.models import PeriodicTask
from config.beat_schedule import LONGEST_EXPIRY_SECONDS

# A job counts as late only after this time, since a worker may be busy for a moment.
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
    """A scheduled job of this installation; `registered_at` is None if beat was never started with this job."""

    task: str
    every: timedelta
    registered_at: datetime | None
    last_run_at: datetime | None

    def overdue(self, now: datetime) -> timedelta | None:
        """The time since the job was due; None if it is not due yet, or was never registered."""
        since = self.last_run_at or self.registered_at
        late = now - since - self.every if since else None
        return late if late and late > timedelta(0) else None

    def is_late(self, now: datetime) -> bool:
        """Whether the job was never registered, or is overdue for longer than its message stays in the broker."""
        if self.registered_at is None:
            return True
        patience = max(min(self.every, timedelta(seconds=LONGEST_EXPIRY_SECONDS)), LEAST_PATIENCE)
        return (self.overdue(now) or timedelta(0)) > patience


def beat_intervals() -> dict[str, float]:
    """The scheduled jobs of this installation, with their intervals in seconds."""
    entries: Iterable[Mapping[str, Any]] = settings.CELERY_BEAT_SCHEDULE.values()
    return {entry["task"]: float(entry["schedule"]) for entry in entries}


def register_beat_tasks() -> None:
    """Record the scheduled jobs when beat starts. Recorded runs are kept."""
    entries = beat_intervals()
    with connection.cursor() as cursor:
        cursor.execute(_REGISTER_TASKS, [list(entries), list(entries.values())])


def record_run(task: str) -> None:
    """Record that a worker ran a scheduled job. Other tasks are ignored."""
    interval_seconds = beat_intervals().get(task)
    if interval_seconds is not None:
        with connection.cursor() as cursor:
            cursor.execute(_RECORD_RUN, [task, interval_seconds])


def beat_entries() -> list[BeatEntry]:
    """Every scheduled job of this installation, whether or not it ever ran. Call it outside of a tenant."""
    known = {alarm.task: alarm for alarm in PeriodicTask.objects.all()}
    return [_beat_entry(task, seconds, known.get(task)) for task, seconds in sorted(beat_intervals().items())]


def _beat_entry(task: str, seconds: float, alarm: PeriodicTask | None) -> BeatEntry:
    every = timedelta(seconds=seconds)
    return (
        BeatEntry(task, every, alarm.registered_at, alarm.last_run_at) if alarm else BeatEntry(task, every, None, None)
    )
