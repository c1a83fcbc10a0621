"""Expiry and review dates of single lines in remembered text."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, tzinfo
from typing import Any, Final, Self

from apps.prompt.memory_lines.line_diff import distinct_lines, line_sha256, split_lines, strip_line

VALID_UNTIL: Final = "valid_until"
REVIEW_AFTER: Final = "review_after"


@dataclass(frozen=True, slots=True)
class LineDates:
    """The dates of a line: sessions opened at or after `valid_until` omit it; people review it from `review_after` on."""

    valid_until: datetime | None = None
    review_after: datetime | None = None

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Self:  # Any: JSON
        """Parse the dates from their stored form."""
        until, review = (
            datetime.fromisoformat(data[name]) if data.get(name) else None for name in (VALID_UNTIL, REVIEW_AFTER)
        )
        return cls(until, review)

    @property
    def wire(self) -> dict[str, str]:
        """Return the dates that are set, in their stored form."""
        known_dates = {VALID_UNTIL: self.valid_until, REVIEW_AFTER: self.review_after}
        return {name: moment.isoformat() for name, moment in known_dates.items() if moment is not None}


def is_expired(line: str, dates: Mapping[str, Any], now: datetime) -> bool:
    """Return whether the line has expired; `dates` are the dates of its text's lines, by line hash."""
    until = LineDates.of(dates.get(line_sha256(line), {})).valid_until
    return until is not None and until <= now


def drop_expired_lines(text: str, dates: Mapping[str, Any], now: datetime) -> str:
    """Return the text without expired lines. The other lines keep their line numbers."""
    if not dates:
        return text
    return "\n".join("" if strip_line(line) and is_expired(line, dates, now) else line for line in split_lines(text))


def merge_line_dates(text: str, dates: Mapping[str, Any], new: Mapping[str, LineDates]) -> dict[str, Any]:
    """Return the dates of a text's lines: the stored dates, overridden by `new`, without those of removed lines."""
    names = {line_sha256(line) for line in distinct_lines(text)}
    together = {**dates, **{line_sha256(line): found.wire for line, found in new.items()}}
    return {name: line_dates for name, line_dates in together.items() if name in names and line_dates}


def find_line_dates(lines: Iterable[str], dates: Mapping[str, Any]) -> dict[str, LineDates]:
    """Return the dates of these lines, by line; lines without dates are left out."""
    found = {strip_line(line): LineDates.of(dates.get(line_sha256(line), {})) for line in lines if strip_line(line)}
    return {line: line_dates for line, line_dates in found.items() if line_dates.wire}


def parse_day_start(text: str, zone: tzinfo) -> datetime:
    """Parse a day such as 2026-12-31 as the beginning of that day in this zone, or a moment as itself; ValueError otherwise."""
    if len(text) <= len("2026-12-31"):
        return datetime.combine(date.fromisoformat(text), time(), zone)
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=zone)


def parse_day_end(text: str, zone: tzinfo) -> datetime:
    """Parse a day as its end, or a moment as itself; ValueError otherwise, OverflowError beyond the last year."""
    if len(text) <= len("2026-12-31"):
        return datetime.combine(date.fromisoformat(text) + timedelta(days=1), time(), zone)
    return parse_day_start(text, zone)


def format_line_dates(dates: Mapping[str, LineDates], zone: tzinfo) -> dict[str, dict[str, str]]:
    """Return dates for the content of a proposal: by kind, each line with its day, or with its moment if not a whole day."""
    lines_by_kind = {
        VALID_UNTIL: {
            line: _format_moment(found.valid_until, zone, 1) for line, found in dates.items() if found.valid_until
        },
        REVIEW_AFTER: {
            line: _format_moment(found.review_after, zone, 0) for line, found in dates.items() if found.review_after
        },
    }
    return {kind: by_line for kind, by_line in lines_by_kind.items() if by_line}


def parse_line_dates(words: Mapping[str, Any], zone: tzinfo) -> dict[str, LineDates]:
    """Parse dates from the content of a proposal, by line; ValueError or OverflowError for an invalid day."""
    until = {strip_line(line): parse_day_end(day, zone) for line, day in words.get(VALID_UNTIL, {}).items()}
    review = {strip_line(line): parse_day_start(day, zone) for line, day in words.get(REVIEW_AFTER, {}).items()}
    return {line: LineDates(until.get(line), review.get(line)) for line in {**until, **review}}


def _format_moment(moment: datetime, zone: tzinfo, days_later: int) -> str:
    local = moment.astimezone(zone)
    if local.time() == time():
        return (local.date() - timedelta(days=days_later)).isoformat()
    return local.isoformat()


def expiring_lines(lines: Iterable[str], dates: Mapping[str, Any]) -> list[tuple[str, datetime]]:
    """Return the lines that expire, each with its expiry."""
    found = ((line, LineDates.of(dates.get(line_sha256(line), {})).valid_until) for line in lines if strip_line(line))
    return [(strip_line(line), until) for line, until in found if until is not None]
