"""Amounts in sentences (durations, money, percentages, counts, times, dates) with their bounds, and conflicts between amounts."""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from apps.text_analysis.word_stems import normalize_word, word_key


@dataclass(frozen=True, slots=True)
class Amount:
    """An amount between `low` and `high`, inclusive. Amounts of different dimensions cannot be compared."""

    dimension: str
    low: float
    high: float
    unit: str
    words: str
    start: int
    end: int

    @property
    def is_exact(self) -> bool:
        """Return whether this is a single amount or a range, not only a bound."""
        return not (math.isinf(self.low) or math.isinf(self.high))

    def turned(self) -> "Amount":
        """Return the amount that remains allowed if this one is forbidden: never over ten allows up to ten.

        Forbidding an exact amount allows all others.
        """
        low, high = (self.high, math.inf) if math.isinf(self.low) else (-math.inf, self.low)
        return Amount(self.dimension, low, high, self.unit, self.words, self.start, self.end)


_ROUGH_UNITS: Final = frozenset({"mon", "yea", "jah"})
_ROUGH_TOLERANCE: Final = 0.08


def is_same_amount(first: Amount, second: Amount) -> bool:
    """Return whether two amounts are equal regardless of their units: a month is thirty days, or four weeks."""
    if first.unit != second.unit and {first.unit, second.unit} & _ROUGH_UNITS:
        return math.isclose(first.low, second.low, rel_tol=_ROUGH_TOLERANCE) and math.isclose(
            first.high, second.high, rel_tol=_ROUGH_TOLERANCE
        )
    return math.isclose(first.low, second.low) and math.isclose(first.high, second.high)


def has_overlap(first: Amount, second: Amount) -> bool:
    """Return whether a value can satisfy both. Ranges that only touch, such as up to thirty and after thirty, do not overlap."""
    return (
        is_same_amount(first, second)
        or max(first.low, second.low) < min(first.high, second.high)
        or _is_point_within(first, second)
    )


def _is_point_within(first: Amount, second: Amount) -> bool:
    """Return whether one of the amounts is a single point within the other."""
    return any(
        one.low == one.high and (two.low < one.low < two.high or (two.is_exact and two.low <= one.low <= two.high))
        for one, two in ((first, second), (second, first))
    )


def _is_compatible(first: Amount, second: Amount) -> bool:
    """Return whether both amounts may be right: thirty is compatible with at most thirty."""
    return first.low <= second.high and second.low <= first.high


def has_conflict(first: Amount, second: Amount) -> bool:
    """Return whether both amounts cannot be right: different bounds of one kind, or amounts without overlap."""
    if first.dimension != second.dimension or is_same_amount(first, second):
        return False
    if not first.is_exact and not second.is_exact:
        is_one_kind = math.isinf(first.low) == math.isinf(second.low)
        return is_one_kind or not _is_compatible(first, second)
    is_span = first.low < first.high and second.low < second.high
    return (first.is_exact and second.is_exact and is_span) or not _is_compatible(first, second)


_NUMBER_WORDS: Final = {
    word: value
    for value, words in (
        (0.5, "half"),
        (1, "a an one ein eine einem einen einer"),
        (2, "two zwei"),
        (3, "three drei"),
        (4, "four vier"),
        (5, "five funf"),
        (6, "six sechs"),
        (7, "seven sieben"),
        (8, "eight acht"),
        (9, "nine neun"),
        (10, "ten zehn"),
        (11, "eleven"),
        (12, "twelve dozen zwolf"),
        (13, "thirteen"),
        (14, "fourteen vierzehn"),
        (15, "fifteen"),
        (18, "eighteen"),
        (20, "twenty zwanzig"),
        (30, "thirty dreissig"),
        (40, "forty"),
        (50, "fifty"),
        (60, "sixty"),
        (70, "seventy"),
        (80, "eighty"),
        (90, "ninety neunzig"),
        (100, "hundred hundert"),
    )
    for word in words.split()
}
_UNIT_DAYS: Final = {
    word: days
    for days, words in (
        (1 / 86_400, "second seconds secs sekunde sekunden"),
        (1 / 1_440, "minute minutes min mins minuten"),
        (1 / 24, "hour hours hr hrs stunde stunden"),
        (1.0, "day days tag tage tagen"),
        (7.0, "week weeks woche wochen"),
        (14.0, "fortnight fortnights"),
        (30.0, "month months monat monate monaten"),
        (365.0, "year years jahr jahre jahren"),
    )
    for word in words.split()
}
_WORKING_DAY_WORDS: Final = frozenset(
    {"business", "working", "arbeitstag", "arbeitstage", "arbeitstagen", "werktage", "werktagen"}
)
_CURRENCIES: Final = {
    **dict.fromkeys(("$", "dollar", "dollars", "usd"), "$"),
    **dict.fromkeys(("\u20ac", "euro", "euros", "eur"), "\u20ac"),
    **dict.fromkeys(("\u00a3", "pound", "pounds", "gbp"), "\u00a3"),
}
_PERCENT_WORDS: Final = frozenset({"%", "percent", "prozent", "pct"})
_MONTH_NAMES: Final = """
january januar jan
february februar feb
march marz mar
april apr
may mai
june juni jun
july juli jul
august aug
september sept sep
october oktober oct okt
november nov
december dezember dec dez
"""
_MONTHS: Final = {
    name: number for number, names in enumerate(_MONTH_NAMES.split("\n")[1:], start=1) for name in names.split()
}

_NUMBER: Final = r"\d{1,12}(?:[.,]\d{1,12}){0,3}"
_SPELLED_NUMBERS: Final = "|".join(sorted(_NUMBER_WORDS, key=len, reverse=True))
_NUMBER_OR_WORD: Final = rf"(?:{_NUMBER}|\b(?:{_SPELLED_NUMBERS})(?:[- ](?:{_SPELLED_NUMBERS}))?\b)"
_CURRENCY: Final = r"(?:[$\u20ac\u00a3]|\b(?:usd|eur|gbp)\b)"
_NO_UNIT: Final = r"(?!(?:per|each|pro|or|and|und|oder|to|bis|of|for|in|im|on|at|is)\b)"
_UNIT: Final = rf"(?:%|[$\u20ac\u00a3]|per cent|{_NO_UNIT}[a-z]{{2,24}})"
_RANGE_MARK: Final = r"\s?(?:-|\u2013|\bto\b|\bbis\b|\band\b|\bund\b)\s?"
_MEASURE: Final = re.compile(
    rf"(?P<before>{_CURRENCY})?\s?(?P<low>{_NUMBER_OR_WORD})(?:\s?(?P<unit_low>{_UNIT})?{_RANGE_MARK}{_CURRENCY}?\s?(?P<high>{_NUMBER_OR_WORD}))?"
    rf"(?:[\s-]?(?P<unit>{_UNIT}))?(?:\s(?P<second>days?|tage?n?))?(?:\s(?:a|an|per|each|pro|im)\s(?P<rate>[a-z]{{3,12}}))?"
)
_CLOCK: Final = re.compile(
    r"\b(?P<hour>[01]?\d|2[0-4])(?::(?P<minute>[0-5]\d))?\s?(?P<half>[ap]\.?m\b\.?|uhr\b|o'clock\b)?"
)
_MONTH_PATTERN: Final = "|".join(sorted(_MONTHS, key=len, reverse=True))
_YEAR: Final = r"(?:,?\s(?P<year>(?:19|20)\d\d))?"
_DATES: Final = (
    re.compile(r"\b(?P<year>(?:19|20)\d\d)-(?P<month>\d\d)-(?P<day>\d\d)\b"),
    re.compile(r"\b(?P<day>[0-3]?\d)\.(?P<month>0?[1-9]|1[0-2])\.(?P<year>(?:19|20)\d\d)"),
    re.compile(
        r"\b(?:am|bis|ab|vom|zum|seit|den|vor|nach) (?P<day>[0-3]?\d)\.(?P<month>0?[1-9]|1[0-2])\.(?P<year>)(?!\d)"
    ),
    re.compile(rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th|\.)?\s(?:of\s)?(?P<name>{_MONTH_PATTERN})\b\.?{_YEAR}"),
    re.compile(rf"\b(?P<name>{_MONTH_PATTERN})\s(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\b{_YEAR}"),
)
_AT_MOST: Final = re.compile(
    r"\b(?:within(?: the (?:last|next|first))?|at (?:the )?most|at the latest|up to|max(?:imum|imal)?(?: of| is)?"
    r"|no(?:t)? (?:more|later|longer) than|under|less than|fewer than|below|(?:not|never) exceed(?:ing)?|until|till|by|before"
    r"|in the (?:last|past)|younger than|innerhalb von|binnen|innerhalb|hochstens|bis zu|bis|vor|unter|spatestens)\s?\Z"
)
_AT_LEAST: Final = re.compile(
    r"\b(?:at least|min(?:imum)?(?: of| is)?|no(?:t)? (?:less|fewer|earlier|sooner) than|over|more than|above|exceed(?:s|ing)?"
    r"|older than|from|since|after|starting|mindestens|uber|ab|nach|seit)\s?\Z"
)
_OR_LESS: Final = re.compile(
    r"\s?(?:or (?:less|fewer|under|earlier)|at (?:the )?most|at the latest|max(?:imum)?|oder weniger)\b"
)
_OR_MORE: Final = re.compile(
    r"\s?(?:or (?:more|over|older|later|longer)|and (?:over|above)|minimum|and up|oder mehr)\b"
)
_NUMBER_LABEL: Final = re.compile(
    r"(?:\b(?:step|option|version|tier|level|section|line|no|nr|number|slot|page|part|schritt)\.?|#|\bv)\s?\Z"
)
_CONTEXT_CHARACTERS: Final = 24


def find_amounts(text: str) -> tuple[Amount, ...]:
    """Return the amounts of a sentence in order. Dates are parsed first, because they contain numbers."""
    reads = normalize_in_place(text)
    taken: list[tuple[int, int]] = []
    found: list[Amount] = []
    for each in (_find_dates, _find_times, _find_measures):
        for amount in each(reads, text):
            found += [amount] if all(amount.end <= start or amount.start >= end for start, end in taken) else []
        taken = [(amount.start, amount.end) for amount in found]
    return tuple(sorted(found, key=lambda amount: (amount.start, amount.dimension)))


def normalize_in_place(text: str) -> str:
    """Return the text in lower case without diacritics, with every character at its original position."""
    if text.isascii():
        return text.lower()
    return "".join(known if len(known := normalize_word(letter)) == 1 else letter for letter in text)


def _apply_bounds(reads: str, start: int, end: int, low: float, high: float) -> tuple[float, float, int, int]:
    """Return the low and high bound, and the positions of the amount including the words that bound it."""
    before = reads[max(start - _CONTEXT_CHARACTERS, 0) : start]
    after = reads[end : end + _CONTEXT_CHARACTERS]
    if low == high:
        if found := _AT_MOST.search(before):
            return -math.inf, high, start - len(before) + found.start(), end
        if found := _AT_LEAST.search(before):
            return low, math.inf, start - len(before) + found.start(), end
        if found := _OR_LESS.match(after):
            return -math.inf, high, start, end + found.end()
        if found := _OR_MORE.match(after):
            return low, math.inf, start, end + found.end()
    return low, high, start, end


def _make_amount(
    dimension: str, unit: str, span: tuple[float, float], place: tuple[int, int], texts: tuple[str, str]
) -> Amount:
    reads, text = texts
    low, high, start, end = _apply_bounds(reads, *place, *span)
    return Amount(dimension, low, high, unit, " ".join(text[start:end].split()), start, end)


def _find_dates(reads: str, text: str) -> Iterator[Amount]:
    for pattern in _DATES:
        for found in pattern.finditer(reads):
            parts = found.groupdict()
            month = int(parts["month"]) if parts.get("month") else _MONTHS[parts["name"]]
            day = month * 31 + int(parts["day"])
            yield _make_amount("day", "day", (day, day), found.span(), (reads, text))
            if parts["year"]:
                date = int(parts["year"]) * 500 + day
                yield _make_amount("date", "date", (date, date), found.span(), (reads, text))


def _find_times(reads: str, text: str) -> Iterator[Amount]:
    for found in _CLOCK.finditer(reads):
        if not (found["minute"] or found["half"]):
            continue
        minutes = int(found["hour"]) % 24 * 60 + int(found["minute"] or 0)
        half = (found["half"] or "")[:1]
        minutes = minutes % 720 + 720 * (half == "p") if half in {"a", "p"} else minutes
        place = found.start(), found.start() + len(found.group().rstrip())
        if re.search(r"(?:\bto|\bbis|-|\u2013|\band)\s?\Z", reads[: found.start()][-_CONTEXT_CHARACTERS:]):
            yield Amount("clock", -math.inf, minutes, "clock", text[place[0] : place[1]], *place)
        else:
            yield _make_amount("clock", "clock", (minutes, minutes), place, (reads, text))


def _find_measures(reads: str, text: str) -> Iterator[Amount]:
    at = 0
    while found := _MEASURE.search(reads, at):
        at = found.end()
        known = _parse_measure(found)
        if known is None or (
            known[0] == "bare" and _NUMBER_LABEL.search(reads[: found.start()][-_CONTEXT_CHARACTERS:])
        ):
            # A word parsed as a unit may be the beginning of the next amount.
            at = max(found.end("high"), found.end("low"))
            continue
        dimension, unit, factor, end = known
        low = parse_number(found["low"])
        high = parse_number(found["high"]) if found["high"] else low
        span = (min(low, high) * factor, max(low, high) * factor)
        start = found.start("before") if found["before"] else found.start("low")
        at = max(end, at if dimension != "bare" else found.end("low"))
        yield _make_amount(dimension, unit, span, (start, end), (reads, text))


def _parse_measure(found: re.Match[str]) -> tuple[str, str, float, int] | None:
    """Return the dimension, unit, factor and end of an amount; None for words that only look like an amount."""
    unit, rate = found["unit"] or "", f"/{found['rate']}" if found["rate"] else ""
    number_end = found.end("high") if found["high"] else found.end("low")
    if found["before"]:
        end = found.end() if rate and not unit else number_end
        return f"money {_CURRENCIES[found['before']]}{rate if end == found.end() else ''}", "money", 1, end
    unit_end = found.end("unit")
    if unit in _CURRENCIES:
        return f"money {_CURRENCIES[unit]}{rate}", "money", 1, found.end()
    if unit in _PERCENT_WORDS or unit == "per cent":
        return f"share{rate}", "share", 1, unit_end
    if unit in _WORKING_DAY_WORDS:
        return "working days", "day", 1, found.end("second") if found["second"] else unit_end
    if unit in _UNIT_DAYS:
        return "time", unit[:3], _UNIT_DAYS[unit], unit_end
    return _parse_count(found, unit, number_end)


def _parse_count(found: re.Match[str], unit: str, number_end: int) -> tuple[str, str, float, int] | None:
    is_article = not found["low"][0].isdigit() and parse_number(found["low"]) <= 1
    if is_article:
        return None
    counted = word_key(unit) if len(unit) > 2 else ""
    if counted:
        # The noun stays a word of the sentence, because it names what is counted.
        return f"count {counted}", counted, 1, number_end
    return ("bare", "", 1, number_end) if found["low"][0].isdigit() else None


def parse_number(words: str) -> float:
    """Parse a number in English or German notation, or spelled out up to ninety-nine."""
    if not words[0].isdigit():
        parts = [_NUMBER_WORDS[part] for part in re.split("[- ]", words)]
        is_product = len(parts) > 1 and (parts[1] == 100 or parts[0] == 0.5 or parts[0] < 20)
        return math.prod(parts) if is_product else sum(parts)
    whole, mark, rest = words.rpartition(next((sign for sign in reversed(words) if sign in ".,"), " "))
    if not mark.strip():
        return float(words)
    digits = re.sub("[.,]", "", whole)
    return float(digits + rest) if len(rest) == 3 else float(f"{digits}.{rest}")
