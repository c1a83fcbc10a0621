"""Which contradiction is which, and what a look makes of those that are known; pure."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta, tzinfo
from itertools import accumulate
from typing import Final

# At night nobody edits; by the tenant's clock.
SCAN_TIME: Final = timedelta(hours=3)
REASON_CHARACTERS: Final = 2_000


@dataclass(frozen=True, slots=True)
class ContradictionSide:
    """One line: the noun and the row it stands in, where there by a name for people, and what it says."""

    noun: str
    row_id: int
    where: str
    line: str


@dataclass(frozen=True, slots=True)
class ContradictionPair:
    """Two lines that contradict each other in one way; a tool that is not allowed has no other line."""

    kind: str
    conflicting_words: str
    one: ContradictionSide
    other: ContradictionSide | None

    @property
    def sha256(self) -> str:
        """By what it says and where, whichever side comes first: the same pair tomorrow has the same."""
        sides = sorted([side.noun, side.row_id, side.line] for side in (self.one, self.other) if side)
        named = self.conflicting_words if self.other is None else ""
        return hashlib.sha256(json.dumps([self.kind, named, sides], ensure_ascii=False).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class KnownContradiction:
    """A contradiction that is kept: its row, and whether it is gone."""

    row_id: int
    is_gone: bool


@dataclass(frozen=True, slots=True)
class ScanChanges:
    """What a look makes of what it found: new pairs, rows that are found again, and rows that are found no more."""

    new: tuple[ContradictionPair, ...]
    back: tuple[int, ...]
    gone: tuple[int, ...]


def compare_scan(
    found: Iterable[ContradictionPair], known: Mapping[str, KnownContradiction], *, is_whole: bool
) -> ScanChanges:
    """Compare what was found with what is kept. What a look that ended at its limit did not find may still be so, and stays."""
    pairs = {pair.sha256: pair for pair in found}
    new = tuple(pair for name, pair in pairs.items() if name not in known)
    back = tuple(row.row_id for name, row in known.items() if row.is_gone and name in pairs)
    gone = tuple(row.row_id for name, row in known.items() if not row.is_gone and name not in pairs)
    return ScanChanges(new, back, gone if is_whole else ())


def latest_scan_date(now: datetime, zone: tzinfo) -> date:
    """The latest night that has come, by the day it ends on: from three in the morning on it is today's."""
    return (now.astimezone(zone).replace(tzinfo=None) - SCAN_TIME).date()


def count_texts_within(lines: Sequence[int], limit: int) -> int:
    """How many texts of so many lines each are read before the limit is passed."""
    return sum(1 for read in accumulate(lines) if read <= limit)
