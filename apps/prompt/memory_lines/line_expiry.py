"""Until when single lines of a remembered text hold, and when people want to look at them again."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, tzinfo
from typing import Any, Final, Self

from apps.prompt.memory_lines.line_diff import distinct_lines, line_sha256, split_lines, strip_line

VALID_UNTIL: Final = "valid_until"
REVIEW_AFTER: Final = "review_after"


@dataclass(frozen=True, slots=True)
class LineDates:
    """A line is no part of sessions that open at `valid_until` or later; from `review_after` on people are asked to look."""

    valid_until: datetime | None = None
    review_after: datetime | None = None

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> Self:  # Any: JSON
        """As a row keeps them."""
        until, review = (
            datetime.fromisoformat(data[name]) if data.get(name) else None for name in (VALID_UNTIL, REVIEW_AFTER)
        )
        return cls(until, review)

    @property
    def wire(self) -> dict[str, str]:
        """For the row: those there are."""
        known_dates = {VALID_UNTIL: self.valid_until, REVIEW_AFTER: self.review_after}
        return {name: moment.isoformat() for name, moment in known_dates.items() if moment is not None}


def is_expired(line: str, dates: Mapping[str, Any], now: datetime) -> bool:
    """Whether the line holds no more; `dates` are those of its text, by the lines' names."""
    until = LineDates.of(dates.get(line_sha256(line), {})).valid_until
    return until is not None and until <= now


def drop_expired_lines(text: str, dates: Mapping[str, Any], now: datetime) -> str:
    """The text without what holds no more. The other lines keep their numbers."""
    if not dates:
        return text
    return "\n".join("" if strip_line(line) and is_expired(line, dates, now) else line for line in split_lines(text))


def merge_line_dates(text: str, dates: Mapping[str, Any], new: Mapping[str, LineDates]) -> dict[str, Any]:
    """The dates of a text's lines: those that were set, and `new` ones by their lines; what is gone takes its own along."""
    names = {line_sha256(line) for line in distinct_lines(text)}
    together = {**dates, **{line_sha256(line): found.wire for line, found in new.items()}}
    return {name: line_dates for name, line_dates in together.items() if name in names and line_dates}


def find_line_dates(lines: Iterable[str], dates: Mapping[str, Any]) -> dict[str, LineDates]:
    """What is said of these lines, by the line; of the others nothing."""
    found = {strip_line(line): LineDates.of(dates.get(line_sha256(line), {})) for line in lines if strip_line(line)}
    return {line: line_dates for line, line_dates in found.items() if line_dates.wire}


def parse_day_start(text: str, zone: tzinfo) -> datetime:
    """The beginning of a day such as 2026-12-31 in this zone, or the moment that is named; ValueError for anything else."""
    if len(text) <= len("2026-12-31"):
        return datetime.combine(date.fromisoformat(text), time(), zone)
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=zone)


def parse_day_end(text: str, zone: tzinfo) -> datetime:
    """The end of such a day, or the moment that is named; ValueError for anything else, OverflowError beyond the last year."""
    if len(text) <= len("2026-12-31"):
        return datetime.combine(date.fromisoformat(text) + timedelta(days=1), time(), zone)
    return parse_day_start(text, zone)


def format_line_dates(dates: Mapping[str, LineDates], zone: tzinfo) -> dict[str, dict[str, str]]:
    """Dates in the words of a proposal: of each kind the lines with their day, or with their moment where it is no day's."""
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
    """The same read back, by the line; ValueError or OverflowError for what is no day."""
    until = {strip_line(line): parse_day_end(day, zone) for line, day in words.get(VALID_UNTIL, {}).items()}
    review = {strip_line(line): parse_day_start(day, zone) for line, day in words.get(REVIEW_AFTER, {}).items()}
    return {line: LineDates(until.get(line), review.get(line)) for line in {**until, **review}}


def _format_moment(moment: datetime, zone: tzinfo, days_later: int) -> str:
    local = moment.astimezone(zone)
    if local.time() == time():
        return (local.date() - timedelta(days=days_later)).isoformat()
    return local.isoformat()


def expiring_lines(lines: Iterable[str], dates: Mapping[str, Any]) -> list[tuple[str, datetime]]:
    """The lines that hold for a while only, each with its end."""
    found = ((line, LineDates.of(dates.get(line_sha256(line), {})).valid_until) for line in lines if strip_line(line))
    return [(strip_line(line), until) for line, until in found if until is not None]
