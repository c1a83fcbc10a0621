"""When a person is notified of pending items, and of which kinds; pure."""

from collections.abc import Mapping, Set
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from enum import StrEnum
from typing import Final
from zoneinfo import ZoneInfo


class NotificationKind(StrEnum):
    """The kinds of pending items that a person can be notified of, the most urgent first."""

    ESCALATIONS = "escalations"
    TOOL_APPROVALS = "tool_approvals"
    DRAFTS = "drafts"
    REVIEWS = "reviews"
    STUCK_TURNS = "stuck_turns"
    DELIVERIES = "deliveries"


class DeliveryTiming(StrEnum):
    """How soon a kind is notified."""

    NEVER = "never"
    AT_ONCE = "at-once"
    DIGEST = "digest"


# Kinds that are notified at once are checked this often. After an e-mail checks pause, so that the next one collects items.
CHECK_INTERVAL: Final = timedelta(minutes=1)
MESSAGE_GAP: Final = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class ZonedPreferences:
    """One person's preferences: which kinds to notify, and when, in their time zone. Hours are 0 to 23."""

    chosen: Mapping[NotificationKind, DeliveryTiming]
    digest_hour: int
    quiet: tuple[int, int] | None
    zone: ZoneInfo

    def kinds(self, *soon: DeliveryTiming) -> tuple[NotificationKind, ...]:
        """Return the kinds with one of these timings."""
        return tuple(kind for kind in NotificationKind if self.chosen[kind] in soon)


@dataclass(frozen=True, slots=True)
class NotificationPlan:
    """A message that is due, and the kinds that it lists."""

    is_digest: bool
    kinds: tuple[NotificationKind, ...]


def quiet_hours_flaw(begins: int | None, ends: int | None, digest_hour: int) -> str:
    """Return the flaw of these quiet hours; empty if they are valid or none are set."""
    if begins is None and ends is None:
        return ""
    if begins is None or ends is None:
        return "Choose when the quiet hours begin and when they end, or neither."
    if begins == ends:
        return f"Quiet hours cannot begin and end at {begins:02}:00. Choose two hours, or neither."
    if _is_in_hours(digest_hour, begins, ends):
        reason = (
            f"The digest of {digest_hour:02}:00 would fall into the quiet hours from {begins:02}:00 to {ends:02}:00."
        )
        return f"{reason} Choose another hour for it."
    return ""


def plan_notification(
    terms: ZonedPreferences, new: Set[NotificationKind], *, now: datetime, last_digest_at: datetime
) -> NotificationPlan | None:
    """Return the message that is due now, given the kinds with new items; None if none is."""
    if is_quiet(terms, now):
        return None
    every = terms.kinds(DeliveryTiming.AT_ONCE, DeliveryTiming.DIGEST)
    if is_digest_due(terms, now=now, last_digest_at=last_digest_at) and new & set(every):
        return NotificationPlan(True, every)
    at_once = terms.kinds(DeliveryTiming.AT_ONCE)
    return NotificationPlan(False, at_once) if new & set(at_once) else None


def is_digest_due(terms: ZonedPreferences, *, now: datetime, last_digest_at: datetime) -> bool:
    """Return whether the hour of a digest has come since the last one was processed."""
    return _next_hour(terms.digest_hour, last_digest_at, terms.zone) <= now


def is_quiet(terms: ZonedPreferences, now: datetime) -> bool:
    """Return whether `now` is in the quiet hours."""
    return terms.quiet is not None and _is_in_hours(now.astimezone(terms.zone).hour, *terms.quiet)


def next_check(terms: ZonedPreferences, now: datetime, *, told_at_once: bool = False) -> datetime:
    """Return the time of the next check: the next digest, or earlier if any kind is notified at once."""
    digest = _next_hour(terms.digest_hour, now, terms.zone)
    if not terms.kinds(DeliveryTiming.AT_ONCE):
        return digest
    soon = now + (MESSAGE_GAP if told_at_once else CHECK_INTERVAL)
    if terms.quiet is not None and is_quiet(terms, soon):
        soon = _next_hour(terms.quiet[1], soon, terms.zone)
    return min(digest, soon)


def _is_in_hours(hour: int, begins: int, ends: int) -> bool:
    """Return whether an hour is within this range, which may include midnight."""
    return begins <= hour < ends if begins < ends else hour >= begins or hour < ends


def _next_hour(hour: int, after: datetime, zone: ZoneInfo) -> datetime:
    """Return the first moment after `after` at which it is that hour in the zone."""
    day = after.astimezone(zone).date()
    today = datetime.combine(day, time(hour), tzinfo=zone).astimezone(UTC)
    if today > after:
        return today
    return datetime.combine(day + timedelta(days=1), time(hour), tzinfo=zone).astimezone(UTC)
