"""The dates of single lines in remembered text, as people read them in histories and comparisons."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Final

from apps.console.framework.row_titles import format_moment
from apps.prompt.memory_lines.line_diff import distinct_lines, line_sha256
from apps.prompt.memory_lines.line_expiry import LineDates

# The column that holds the dates of a text's lines, by the hashes of the lines.
LINE_DATES: Final = "line_dates"


def with_readable_dates(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row's recorded values with the dates of its lines as text."""
    dates = values.get(LINE_DATES)
    if not isinstance(dates, Mapping):
        return dict(values)
    return {**values, LINE_DATES: _dates_as_text(dates, (value for value in values.values() if isinstance(value, str)))}


def _dates_as_text(dates: Mapping[str, Any], texts: Iterable[str]) -> str:
    """Return one sentence for each dated line, in the order of the lines."""
    lines = {line_sha256(line): line for text in texts for line in distinct_lines(text)}
    dated = ((lines.get(sha256), LineDates.of(found)) for sha256, found in dates.items())
    return "\n".join(
        f"{f'“{line}”' if line else 'A line that is gone'}: {_date_sentence(found)}." for line, found in dated
    )


def _date_sentence(dates: LineDates) -> str:
    parts: list[tuple[str, datetime | None]] = [
        ("holds until", dates.valid_until),
        ("to be looked at again from", dates.review_after),
    ]
    return ", ".join(f"{label} {format_moment(moment)}" for label, moment in parts if moment)
