"""When a person is told of what waits, and of what; pure."""

from collections.abc import Mapping, Set
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from enum import StrEnum
from typing import Final
from zoneinfo import ZoneInfo


class Kind(StrEnum):
    """What a person can be told of, what presses most first."""

    ESCALATIONS = "escalations"
    TOOL_APPROVALS = "tool_approvals"
    DRAFTS = "drafts"
    REVIEWS = "reviews"
    STUCK_TURNS = "stuck_turns"
    DELIVERIES = "deliveries"


class When(StrEnum):
    """How soon."""

    NEVER = "never"
    AT_ONCE = "at-once"
    DIGEST = "digest"


# What is told at once is looked for so often, and after a message of it not for a while: what comes meanwhile is one more.
LOOK: Final = timedelta(minutes=1)
GAP: Final = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class Terms:
    """What one person wants to be told, and when, by the clock of their zone. Hours are 0 to 23."""

    chosen: Mapping[Kind, When]
    digest_hour: int
    quiet: tuple[int, int] | None
    zone: ZoneInfo

    def kinds(self, *soon: When) -> tuple[Kind, ...]:
        """The kinds that are told so soon."""
        return tuple(kind for kind in Kind if self.chosen[kind] in soon)


@dataclass(frozen=True, slots=True)
class Plan:
    """A message that is due, and the kinds it speaks of."""

    is_digest: bool
    kinds: tuple[Kind, ...]


def quiet_flaw(begins: int | None, ends: int | None, digest_hour: int) -> str:
    """Why these cannot be quiet hours; empty if they can, or if there are none."""
    if begins is None and ends is None:
        return ""
    if begins is None or ends is None:
        return "Choose when the quiet hours begin and when they end, or neither."
    if begins == ends:
        return f"Quiet hours cannot begin and end at {begins:02}:00. Choose two hours, or neither."
    if _within(digest_hour, begins, ends):
        said = f"The digest of {digest_hour:02}:00 would fall into the quiet hours from {begins:02}:00 to {ends:02}:00."
        return f"{said} Choose another hour for it."
    return ""


def planned(terms: Terms, new: Set[Kind], *, now: datetime, last_digest_at: datetime) -> Plan | None:
    """The message that is due now, given of which kinds there is something the person was not told of; None if none is."""
    if is_quiet(terms, now):
        return None
    every = terms.kinds(When.AT_ONCE, When.DIGEST)
    if is_digest_due(terms, now=now, last_digest_at=last_digest_at) and new & set(every):
        return Plan(True, every)
    at_once = terms.kinds(When.AT_ONCE)
    return Plan(False, at_once) if new & set(at_once) else None


def is_digest_due(terms: Terms, *, now: datetime, last_digest_at: datetime) -> bool:
    """Whether the hour of a digest has come since the last one was looked at."""
    return _next(terms.digest_hour, last_digest_at, terms.zone) <= now


def is_quiet(terms: Terms, now: datetime) -> bool:
    """Whether nothing may be sent just now."""
    return terms.quiet is not None and _within(now.astimezone(terms.zone).hour, *terms.quiet)


def next_look(terms: Terms, now: datetime, *, told_at_once: bool = False) -> datetime:
    """When to look again: at the next digest, and before it wherever something is to be told at once."""
    digest = _next(terms.digest_hour, now, terms.zone)
    if not terms.kinds(When.AT_ONCE):
        return digest
    soon = now + (GAP if told_at_once else LOOK)
    if terms.quiet is not None and is_quiet(terms, soon):
        soon = _next(terms.quiet[1], soon, terms.zone)
    return min(digest, soon)


def _within(hour: int, begins: int, ends: int) -> bool:
    """Whether an hour is one of these, which may go round midnight."""
    return begins <= hour < ends if begins < ends else hour >= begins or hour < ends


def _next(hour: int, after: datetime, zone: ZoneInfo) -> datetime:
    """The first moment later than this at which it is that hour there."""
    day = after.astimezone(zone).date()
    today = datetime.combine(day, time(hour), tzinfo=zone).astimezone(UTC)
    if today > after:
        return today
    return datetime.combine(day + timedelta(days=1), time(hour), tzinfo=zone).astimezone(UTC)
