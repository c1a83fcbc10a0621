"""The identity of a contradiction, and the changes to store after a scan; pure."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta, tzinfo
from itertools import accumulate
from typing import Final

# The hour of the nightly scan on the tenant's clock, when nobody edits.
SCAN_TIME: Final = timedelta(hours=3)
REASON_CHARACTERS: Final = 2_000


@dataclass(frozen=True, slots=True)
class ContradictionSide:
    """One line: the noun and id of its row, its location in the row as shown to people, and its text."""

    noun: str
    row_id: int
    where: str
    line: str


@dataclass(frozen=True, slots=True)
class ContradictionPair:
    """Two lines that contradict each other in one way. A line that names a forbidden tool has no second line."""

    kind: str
    conflicting_words: str
    one: ContradictionSide
    other: ContradictionSide | None

    @property
    def sha256(self) -> str:
        """Return a hash of both texts and locations that does not depend on the order of the sides."""
        sides = sorted([side.noun, side.row_id, side.line] for side in (self.one, self.other) if side)
        named = self.conflicting_words if self.other is None else ""
        return hashlib.sha256(json.dumps([self.kind, named, sides], ensure_ascii=False).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class KnownContradiction:
    """A stored contradiction: its row id, and whether it is cleared."""

    row_id: int
    is_gone: bool


@dataclass(frozen=True, slots=True)
class ScanChanges:
    """The changes after a scan: new pairs, rows found again, and rows not found again."""

    new: tuple[ContradictionPair, ...]
    back: tuple[int, ...]
    gone: tuple[int, ...]


def compare_scan(
    found: Iterable[ContradictionPair], known: Mapping[str, KnownContradiction], *, is_whole: bool
) -> ScanChanges:
    """Compare found pairs with stored ones. If the scan stopped at its limit, rows that it did not find stay unchanged."""
    pairs = {pair.sha256: pair for pair in found}
    new = tuple(pair for name, pair in pairs.items() if name not in known)
    back = tuple(row.row_id for name, row in known.items() if row.is_gone and name in pairs)
    gone = tuple(row.row_id for name, row in known.items() if not row.is_gone and name not in pairs)
    return ScanChanges(new, back, gone if is_whole else ())


def latest_scan_date(now: datetime, zone: tzinfo) -> date:
    """Return the date of the latest scan that is due: today from three in the morning on, else yesterday."""
    return (now.astimezone(zone).replace(tzinfo=None) - SCAN_TIME).date()


def count_texts_within(lines: Sequence[int], limit: int) -> int:
    """Return how many texts fit before the limit of lines is exceeded."""
    return sum(1 for read in accumulate(lines) if read <= limit)
