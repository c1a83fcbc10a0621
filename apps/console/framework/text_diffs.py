"""Two texts side by side, marked by signs and words as well as by colour."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import zip_longest

REMOVED = "\N{MINUS SIGN}"
RESEMBLANCE = 0.5
_WORDS = re.compile(r"\w+|\s+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of a line, and whether the other side lacks it."""

    text: str
    changed: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """One line of each side; an absent line is None."""

    mark: str
    before: tuple[Piece, ...] | None
    after: tuple[Piece, ...] | None

    @property
    def says(self) -> str:
        """The mark in words, for whoever does not see it."""
        return {"=": "unchanged", "≠": "changed", REMOVED: "removed", "+": "added"}[self.mark]


@dataclass(frozen=True, slots=True)
class FieldDiff:
    """What became of one field."""

    name: str
    rows: tuple[Row, ...]


def field_diffs(before: Mapping[str, object], after: Mapping[str, object]) -> list[FieldDiff]:
    """The fields that differ, in the order they stand in."""
    names = [*after, *(name for name in before if name not in after)]
    differing = [name for name in names if shown(before.get(name)) != shown(after.get(name))]
    return [
        FieldDiff(label_of(name), tuple(side_by_side(shown(before.get(name)), shown(after.get(name)))))
        for name in differing
    ]


def shown(value: object) -> str:
    """A recorded value as text; nothing and an empty text read the same."""
    if isinstance(value, Mapping | list):
        return json.dumps(value, indent=2, ensure_ascii=False) if value else ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else str(value)


def label_of(name: str) -> str:
    """A column's name for people."""
    return name.removesuffix("_id").replace("_", " ")


def side_by_side(before: str, after: str) -> Iterator[Row]:
    """Line by line; lines that were rewritten stand beside each other with their words compared."""
    old, new = before.splitlines(), after.splitlines()
    for tag, old_from, old_to, new_from, new_to in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        pairs = zip_longest(old[old_from:old_to], new[new_from:new_to])
        if tag == "equal":
            yield from (Row("=", (Piece(left),), (Piece(left),)) for left, _ in pairs)
        else:
            yield from (_row(left, right) for left, right in pairs)


def _row(left: str | None, right: str | None) -> Row:
    if left is None:
        return Row("+", None, (Piece(right or "", changed=True),))
    if right is None:
        return Row(REMOVED, (Piece(left, changed=True),), None)
    return Row("≠", *_compared(_WORDS.findall(left), _WORDS.findall(right)))


def _compared(left: Sequence[str], right: Sequence[str]) -> tuple[tuple[Piece, ...], tuple[Piece, ...]]:
    """Word by word where the lines resemble each other; scattered marks on unlike lines would only confuse."""
    matcher = SequenceMatcher(None, left, right, autojunk=False)
    if matcher.ratio() < RESEMBLANCE:
        return (Piece("".join(left), changed=True),), (Piece("".join(right), changed=True),)
    before: list[Piece] = []
    after: list[Piece] = []
    for tag, left_from, left_to, right_from, right_to in matcher.get_opcodes():
        changed = tag != "equal"
        before.append(Piece("".join(left[left_from:left_to]), changed))
        after.append(Piece("".join(right[right_from:right_to]), changed))
    return tuple(piece for piece in before if piece.text), tuple(piece for piece in after if piece.text)
