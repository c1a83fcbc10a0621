"""Finds relative days, such as "tomorrow", and replaces unambiguous ones with dates."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import islice
from typing import Final

_MAX_SHOWN: Final = 3
_QUOTED_CHARACTERS: Final = 80
_WEEKDAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_RELATIVE_DAY: Final = (
    r"(?:today|tonight|tomorrow|yesterday"
    r"|(?:this|next|last) (?:week|weekend|month|quarter|year|(?:mon|tues|wednes|thurs|fri|satur|sun)day)"
    r"|heute|gestern|übermorgen|(?:nächste|diese|letzte)[nrs]? (?:woche|monat|jahr|wochenende))\b"
)
RELATIVE_DAY_PATTERN: Final = re.compile(rf"\b{_RELATIVE_DAY}", re.IGNORECASE)
# After until, since or from, one certain day is meant. In "if it came yesterday", any day may be meant.
_BOUNDARY: Final = re.compile(
    rf"\b(?P<before>(?:until|till|since|as of|from|starting|effective|valid through|ends|ended|begins|began|expires|expired"
    rf"|closes|reopens|bis|seit|ab|endet|beginnt)(?: on| from| am| ab)?\s+)(?P<day>{_RELATIVE_DAY})",
    re.IGNORECASE,
)
_DAY_OFFSETS: Final = {
    "today": 0,
    "tonight": 0,
    "tomorrow": 1,
    "yesterday": -1,
    "heute": 0,
    "gestern": -1,
    "übermorgen": 2,
}
_PERIOD_STEPS: Final = {"this": 0, "next": 1, "last": -1}


@dataclass(frozen=True, slots=True)
class DatedText:
    """A text with some relative days replaced by dates: the replacements, and the ambiguous phrases left unchanged."""

    text: str
    written: tuple[tuple[str, str], ...] = ()
    left: tuple[str, ...] = ()

    @property
    def sentences(self) -> str:
        """Return sentences for the reviewer of the text; empty if the text contains no relative day."""
        written = "; ".join(f"“{phrase}” is written as {meant}" for phrase, meant in self.written)
        left = "; ".join(f"“{phrase}”" for phrase in dict.fromkeys(self.left))
        return " ".join(
            filter(
                None,
                [
                    written and f"By the day of the conversation {written}.",
                    left and f"It names days by the day on which it was written, look whether one is meant: {left}.",
                ],
            )
        )


def replace_relative_dates(text: str, day: date | None) -> DatedText:
    """Replace the days on which something begins or ends with dates, counted from `day`; without `day` nothing is replaced.

    Other relative days stay: in a runbook, "today" and "yesterday" mean the day on which it is followed. "Next Friday" stays too,
    because people mean two different days by it.
    """
    written: list[tuple[str, str]] = []

    def say(found: re.Match[str]) -> str:
        meant = _resolve_day(found["day"].lower(), day) if day else None
        if meant is None:
            return found[0]
        written.append((found[0], meant))
        return f"{found['before']}{meant}"

    dated_text = _BOUNDARY.sub(say, text)
    return DatedText(dated_text, tuple(written), tuple(found[0] for found in RELATIVE_DAY_PATTERN.finditer(dated_text)))


def replace_all_relative_dates(texts: Iterable[str], day: date | None) -> tuple[tuple[str, ...], DatedText]:
    """Replace relative days in several texts; the second value lists all replacements and joins the texts."""
    found = [replace_relative_dates(text, day) for text in texts]
    together = DatedText(
        "\n".join(each.text for each in found),
        tuple(change for each in found for change in each.written),
        tuple(word for each in found for word in each.left),
    )
    return tuple(each.text for each in found), together


def relative_date_warning(lines: Iterable[str]) -> str:
    """Return a warning for the writer of lines with relative days; empty if there are none."""
    named = (
        (line.strip()[:_QUOTED_CHARACTERS], found[0]) for line in lines for found in RELATIVE_DAY_PATTERN.finditer(line)
    )
    found = [f"“{line}” ({word})" for line, word in islice(named, _MAX_SHOWN)]
    if not found:
        return ""
    return f"If a certain day is meant, write its date, for whoever reads it later does not know today: {'; '.join(found)}."


def _resolve_day(phrase: str, day: date) -> str | None:
    """Return the date, month or year; None if the phrase is ambiguous or beyond the range of dates."""
    try:
        if phrase in _DAY_OFFSETS:
            return (day + timedelta(days=_DAY_OFFSETS[phrase])).isoformat()
        which, _, unit = phrase.partition(" ")
        return _step_date(day, _PERIOD_STEPS[which], unit) if which in _PERIOD_STEPS else None
    except (OverflowError, ValueError):
        return None


def _step_date(day: date, steps: int, unit: str) -> str | None:
    match unit:
        case "year":
            return str(day.year + steps)
        case "month":
            months = day.year * 12 + day.month - 1 + steps
            return date(months // 12, months % 12 + 1, 1).isoformat()[:7]
        case "week":
            return f"the week of {(day - timedelta(days=day.weekday()) + timedelta(weeks=steps)).isoformat()}"
        case _ if unit in _WEEKDAYS and steps < 1:
            ahead = (_WEEKDAYS.index(unit) - day.weekday()) % 7
            return (day + timedelta(days=ahead + 7 * steps)).isoformat()
        case _:
            return None
