"""Three-way merge of a text by lines: two changes of one base become one text, unless they touch the same place."""

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher


@dataclass(frozen=True, slots=True)
class MergeEdit:
    """One edit of the base: the lines from `start` to before `end` become `lines`."""

    start: int
    end: int
    lines: tuple[str, ...]

    def touches(self, other: "MergeEdit") -> bool:
        """Whether two edits overlap or stand side by side, so that the order of their lines would be a guess."""
        return self.start <= other.end and other.start <= self.end


def merge_texts(base: str, ours: str, theirs: str) -> str | None:
    """Return `base` with the edits of both sides, or None if the sides changed the same place differently."""
    old = base.split("\n")
    mine, other = list(_edits(old, ours)), list(_edits(old, theirs))
    shared = set(mine) & set(other)
    if any(left.touches(right) for left in mine for right in other if left not in shared or right not in shared):
        return None
    merged = list(old)
    for edit in sorted({*mine, *other}, key=lambda each: (each.start, each.end), reverse=True):
        merged[edit.start : edit.end] = edit.lines
    return "\n".join(merged)


def _edits(base: list[str], changed: str) -> Iterator[MergeEdit]:
    new = changed.split("\n")
    for tag, start, end, new_from, new_to in SequenceMatcher(None, base, new, autojunk=False).get_opcodes():
        if tag != "equal":
            yield MergeEdit(start, end, tuple(new[new_from:new_to]))
