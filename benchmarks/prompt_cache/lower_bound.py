"""A lower bound for every plan: each prefix cached at the best moment, with knowledge of the future.

Each prefix is taken for itself. A use of it is billed uncached, written for five minutes or for an hour, or read; a
read may keep it for another hour, because an hour mark on a short block behind it does that. The number of marks, the
look-back, the minimum length and the order of lifetimes are left out, so every real plan can only cost more.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from apps.llm.prices import TokenRates

MINUTES: Final = 300.0
HOUR: Final = 3600.0


@dataclass(frozen=True, slots=True)
class Shares:
    """Prices as shares of the price of a token that is not cached."""

    read: float
    write_5m: float
    write_1h: float


def shares(rates: TokenRates) -> Shares:
    return Shares(
        float(rates.cache_read / rates.input),
        float(rates.cache_write_5m / rates.input),
        float(rates.cache_write_1h / rates.input),
    )


def cheapest(uses: Sequence[float], price: Shares) -> float:
    """Return the least cost of one token of a prefix that is sent at these moments, in tokens that are not cached."""
    return sum(_cheapest_run(run, price) for run in _split_by_hour(uses))


def _split_by_hour(uses: Sequence[float]) -> Iterable[Sequence[float]]:
    """Split the moments at pauses of an hour, which end everything that is cached."""
    start = 0
    for at in range(1, len(uses)):
        if uses[at] - uses[at - 1] >= HOUR:
            yield uses[start:at]
            start = at
    yield uses[start:]


def _cheapest_run(uses: Sequence[float], price: Shares) -> float:
    """Return the least cost of one run: once written, a prefix is read to its end; the choice is when to write it."""
    best = float(len(uses))
    for at in range(len(uses) - 1):
        write = price.write_5m if uses[at + 1] - uses[at] < MINUTES else price.write_1h
        best = min(best, at + write + price.read * (len(uses) - at - 1))
        if write == price.write_5m:
            break
    return best
