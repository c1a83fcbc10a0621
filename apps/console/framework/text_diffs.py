"""Two texts side by side, marked by signs and words as well as by colour."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import zip_longest

REMOVED = "\N{MINUS SIGN}"
MIN_SIMILARITY = 0.5
PASSAGE_CHARACTERS = 160
CONTEXT_CHARACTERS = 30
_WORD_PATTERN = re.compile(r"\w+|\s+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class DiffPiece:
    """A piece of a line, and whether the other side lacks it."""

    text: str
    changed: bool = False


@dataclass(frozen=True, slots=True)
class DiffRow:
    """One line of each side; an absent line is None."""

    mark: str
    before: tuple[DiffPiece, ...] | None
    after: tuple[DiffPiece, ...] | None

    @property
    def says(self) -> str:
        """The mark in words, for people who do not see it."""
        return {"=": "unchanged", "≠": "changed", REMOVED: "removed", "+": "added"}[self.mark]


@dataclass(frozen=True, slots=True)
class FieldDiff:
    """The change of one field, line by line."""

    name: str
    rows: tuple[DiffRow, ...]


def field_diffs(before: Mapping[str, object], after: Mapping[str, object]) -> list[FieldDiff]:
    """Return the fields that differ, in their order."""
    names = [*after, *(name for name in before if name not in after)]
    differing = [name for name in names if value_as_text(before.get(name)) != value_as_text(after.get(name))]
    return [
        FieldDiff(
            field_label(name), tuple(side_by_side(value_as_text(before.get(name)), value_as_text(after.get(name))))
        )
        for name in differing
    ]


def value_as_text(value: object) -> str:
    """Return a recorded value as text; nothing and an empty text read the same."""
    if isinstance(value, Mapping | list):
        return json.dumps(value, indent=2, ensure_ascii=False) if value else ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else str(value)


def field_label(name: str) -> str:
    """Return a column's name for people."""
    return name.removesuffix("_id").replace("_", " ")


def side_by_side(before: str, after: str) -> Iterator[DiffRow]:
    """Compare line by line; rewritten lines are paired, with their words compared."""
    old, new = before.splitlines(), after.splitlines()
    for tag, old_from, old_to, new_from, new_to in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        pairs = zip_longest(old[old_from:old_to], new[new_from:new_to])
        if tag == "equal":
            yield from (DiffRow("=", (DiffPiece(left),), (DiffPiece(left),)) for left, _ in pairs)
        else:
            yield from (_diff_row(left, right) for left, right in pairs)


def first_difference(before: str, after: str) -> tuple[str, str]:
    """Return the differing lines of both texts without their common lines, cut to the passage around the first difference."""
    old, new = before.splitlines(), after.splitlines()
    start = _common_beginning(old, new)
    end = _common_beginning(old[start:][::-1], new[start:][::-1])
    left, right = "\n".join(old[start : len(old) - end]), "\n".join(new[start : len(new) - end])
    same = _common_beginning(left, right)
    # The context begins with a whole word.
    cut = left.rfind(" ", 0, same - CONTEXT_CHARACTERS) + 1 if same > CONTEXT_CHARACTERS else 0
    return _passage(left, cut), _passage(right, cut)


def _common_beginning(left: Sequence[str], right: Sequence[str]) -> int:
    pairs = zip(left, right, strict=False)
    return next((place for place, (one, other) in enumerate(pairs) if one != other), min(len(left), len(right)))


def _passage(text: str, cut: int) -> str:
    beyond = text[cut : cut + PASSAGE_CHARACTERS]
    return f"{'…' if cut else ''}{beyond}{'…' if len(text) > cut + PASSAGE_CHARACTERS else ''}"


def _diff_row(left: str | None, right: str | None) -> DiffRow:
    if left is None:
        return DiffRow("+", None, (DiffPiece(right or "", changed=True),))
    if right is None:
        return DiffRow(REMOVED, (DiffPiece(left, changed=True),), None)
    return DiffRow("≠", *_diff_words(_WORD_PATTERN.findall(left), _WORD_PATTERN.findall(right)))


def _diff_words(left: Sequence[str], right: Sequence[str]) -> tuple[tuple[DiffPiece, ...], tuple[DiffPiece, ...]]:
    """Compare word by word if the lines resemble each other; scattered marks on unlike lines would only confuse."""
    matcher = SequenceMatcher(None, left, right, autojunk=False)
    if matcher.ratio() < MIN_SIMILARITY:
        return (DiffPiece("".join(left), changed=True),), (DiffPiece("".join(right), changed=True),)
    before: list[DiffPiece] = []
    after: list[DiffPiece] = []
    for tag, left_from, left_to, right_from, right_to in matcher.get_opcodes():
        changed = tag != "equal"
        before.append(DiffPiece("".join(left[left_from:left_to]), changed))
        after.append(DiffPiece("".join(right[right_from:right_to]), changed))
    return tuple(piece for piece in before if piece.text), tuple(piece for piece in after if piece.text)
