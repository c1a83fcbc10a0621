"""Amounts, and when two of them cannot both be right."""

import math
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Amount:
    """How much of what: at least `low` and at most `high`. What has another dimension cannot be compared."""

    dimension: str
    low: float
    high: float
    unit: str
    words: str
    start: int
    end: int

    @property
    def is_exact(self) -> bool:
        """One amount or a span of them, and no bound alone."""
        return not (math.isinf(self.low) or math.isinf(self.high))

    def turned(self) -> "Amount":
        """What a prohibition of it leaves: never over ten is up to ten. A forbidden exact amount leaves all others."""
        low, high = (self.high, math.inf) if math.isinf(self.low) else (-math.inf, self.low)
        return Amount(self.dimension, low, high, self.unit, self.words, self.start, self.end)


_ROUGH: Final = frozenset({"mon", "yea", "jah"})
_ROUGHLY: Final = 0.08


def same(first: Amount, second: Amount) -> bool:
    """Whether two amounts are one, whatever their units: a month is thirty days, or four weeks."""
    if first.unit != second.unit and {first.unit, second.unit} & _ROUGH:
        return math.isclose(first.low, second.low, rel_tol=_ROUGHLY) and math.isclose(
            first.high, second.high, rel_tol=_ROUGHLY
        )
    return math.isclose(first.low, second.low) and math.isclose(first.high, second.high)


def overlap(first: Amount, second: Amount) -> bool:
    """Whether one thing can be both. What only touches does not: up to thirty, and after thirty."""
    return same(first, second) or max(first.low, second.low) < min(first.high, second.high) or _holds(first, second)


def _holds(first: Amount, second: Amount) -> bool:
    """Whether one of the two is a point within the other."""
    return any(
        one.low == one.high and (two.low < one.low < two.high or (two.is_exact and two.low <= one.low <= two.high))
        for one, two in ((first, second), (second, first))
    )


def _fit(first: Amount, second: Amount) -> bool:
    """Whether what is said may be so: thirty fits to at most thirty."""
    return first.low <= second.high and second.low <= first.high


def clash(first: Amount, second: Amount) -> bool:
    """Whether both cannot be right: bounds of one kind that differ, or amounts that lie apart."""
    if first.dimension != second.dimension or same(first, second):
        return False
    if not first.is_exact and not second.is_exact:
        is_one_kind = math.isinf(first.low) == math.isinf(second.low)
        return is_one_kind or not _fit(first, second)
    is_span = first.low < first.high and second.low < second.high
    return (first.is_exact and second.is_exact and is_span) or not _fit(first, second)
