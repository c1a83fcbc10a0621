"""The beat's alarms as *Health* tells them: when each last rang, how often it is due, and in words what is overdue."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.utils.timesince import timesince

from apps.runtime.health.beat_monitor import Ringing

# What somebody who reads the page calls it.
TITLES: Final[Mapping[str, str]] = {
    "apps.api.tasks.sweep_answers": "Forget old answers of the API",
    "apps.learning.tasks.sweep": "Learn from resolved conversations",
    "apps.learning.tasks.sweep_days": "Reflect on the day",
    "apps.learning.tasks.sweep_digests": "Digest lessons",
    "apps.learning.tasks.sweep_distillation": "Distil memory",
    "apps.learning.tasks.sweep_lessons": "Learn from decisions",
    "apps.notebook.tasks.sweep": "Drop scratch notes nobody touched",
    "apps.notifications.tasks.sweep": "Tell people by e-mail",
    "apps.notifications.tasks.sweep_review_webhooks": "Tell webhooks of reviews",
    "apps.review.tasks.sweep": "Close proposals that ran out of time",
    "apps.review.tasks.sweep_bulk": "Go on with decisions taken together",
    "apps.runtime.tasks.sweep_contradictions": "Look for contradictions",
    "apps.runtime.tasks.sweep_listings": "Ask tool servers for their tools",
    "apps.runtime.tasks.sweep_paused_delegations": "Tell who asked a paused agent",
    "apps.skills.tasks.sweep": "Remove what uploads left behind",
}
_UNITS: Final = ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second"))
NO_BEAT: Final = (
    "The beat was never started, so nothing is swept: what a lost message should have woken waits. Start one beat."
)
NOTHING_RINGS: Final = (
    "The beat wakes nobody any more, or no worker takes what it sends: every sweep is overdue. See that beat, broker and a"
    " worker run."
)


@dataclass(frozen=True, slots=True)
class Alarm:
    """An alarm as the page tells it; `state` says it in words, whatever its colour."""

    title: str
    every: str
    last_run_at: datetime | None
    is_late: bool
    state: str


def alarms_told(found: list[Ringing], now: datetime) -> list[Alarm]:
    """Those that are overdue first, then by what they are called."""
    told = (_told(each, now) for each in found)
    return sorted(told, key=lambda alarm: (not alarm.is_late, alarm.title))


def _told(alarm: Ringing, now: datetime) -> Alarm:
    title = TITLES.get(alarm.task, alarm.task)
    return Alarm(title, span(alarm.every), alarm.last_run_at, alarm.is_late(now), _state(alarm, now))


def _state(alarm: Ringing, now: datetime) -> str:
    if alarm.registered_at is None:
        return "never: no beat was started with it"
    overdue = alarm.overdue(now)
    if alarm.is_late(now) and overdue:
        return f"overdue for {timesince(now - overdue, now, depth=1)}"
    return "in time" if alarm.last_run_at else "in time: waits for its first turn"


def span(every: timedelta) -> str:
    """A length of time in the largest unit that it is whole in."""
    seconds = every.total_seconds()
    unit, name = next(((size, name) for size, name in _UNITS if seconds >= size and seconds % size == 0), (1, "second"))
    count = seconds / unit
    return f"every {name}" if count == 1 else f"every {count:g} {name}s"


def flaws_of_alarms(alarms: list[Ringing], told: list[Alarm]) -> Iterator[str]:
    """In a sentence what somebody should look at, where there is something."""
    late = [alarm.title for alarm in told if alarm.is_late]
    if alarms and all(alarm.registered_at is None for alarm in alarms):
        yield NO_BEAT
    elif late and len(late) == len(alarms):
        yield NOTHING_RINGS
    elif late:
        yield f"Overdue by the beat: {'; '.join(late)}."
