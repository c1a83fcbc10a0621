"""Splits an agent's memory write into the part that takes effect at once and the part held for review (Z-19)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from apps.prompt.memory_lines.line_diff import distinct_lines, split_lines, strip_line
from apps.prompt.text_reuse.derived_lines import ReceivedTexts, RepeatedSource, find_derived_lines


class MemoryReview(StrEnum):
    """Which of the agents' own memory writes are held for review."""

    OFF = "off"
    TAINTED = "tainted"
    ALL = "all"

    @property
    def sentence(self) -> str:
        """Return the meaning of the setting as a sentence for people."""
        return _SENTENCES[self]


_SENTENCES: Final = {
    MemoryReview.OFF: "Agents write their memory freely; prompts contain it as quoted data.",
    MemoryReview.TAINTED: "Memory lines in the words of a customer or a tool wait for a person's approval.",
    MemoryReview.ALL: "Everything that an agent writes to memory waits for a person's approval.",
}


@dataclass(frozen=True, slots=True)
class HeldLine:
    """A line held for review, and the source that it repeats."""

    text: str
    whose: RepeatedSource


@dataclass(frozen=True, slots=True)
class LineReviewSplit:
    """A split write: the text that takes effect at once, the lines held for review, and the approved lines it would remove."""

    text: str
    held: tuple[HeldLine, ...] = ()
    drops: tuple[str, ...] = ()


def repeated_lines(before: str, wanted: str, heard: ReceivedTexts) -> tuple[HeldLine, ...]:
    """Return new lines that repeat a customer or a tool; if the received texts are incomplete, return every new line."""
    old = distinct_lines(before)
    added = [line for line in split_lines(wanted) if strip_line(line) and strip_line(line) not in old]
    if not heard.is_whole:
        return tuple(HeldLine(line, RepeatedSource.CUSTOMER) for line in added)
    return tuple(HeldLine(added[found.number], found.whose) for found in find_derived_lines(added, heard))


def split_write(before: str, wanted: str, approved: str, heard: ReceivedTexts) -> LineReviewSplit:
    """Split a write. Approved lines stay until a person agrees to remove them; lines that repeat a source are held for review."""
    held = repeated_lines(before, wanted, heard)
    waits = frozenset(strip_line(line.text) for line in held)
    drops = tuple(
        strip_line(line)
        for line in split_lines(before)
        if strip_line(line) in distinct_lines(approved) and strip_line(line) not in distinct_lines(wanted)
    )
    stays = [line for line in split_lines(wanted) if wanted and strip_line(line) not in waits]
    if not held and not drops:
        return LineReviewSplit(wanted)
    return LineReviewSplit("\n".join(_reinsert_lines(drops, split_lines(before), stays)), held, drops)


def _reinsert_lines(kept: Sequence[str], before: Sequence[str], stays: Sequence[str]) -> list[str]:
    """Return the staying lines, each of the `kept` ones after the line that it followed before."""
    standing, missing = frozenset(map(strip_line, stays)), frozenset(kept)
    behind: dict[str, list[str]] = {}
    last = ""
    for line in before:
        if strip_line(line) in missing:
            behind.setdefault(last, []).append(line)
        elif strip_line(line) in standing and strip_line(line):
            last = strip_line(line)
    whole = behind.pop("", [])
    for line in stays:
        whole += [line, *behind.pop(strip_line(line), [])]
    return whole


def merge_lines(text: str, lines: Iterable[str], drops: Iterable[str] = ()) -> str:
    """Return the text without `drops` and with `lines` appended, except lines that it already contains."""
    gone = frozenset(map(strip_line, drops))
    stays = [line for line in split_lines(text) if strip_line(line) not in gone or not strip_line(line)]
    new = dict.fromkeys(
        line for line in lines if strip_line(line) and strip_line(line) not in frozenset(map(strip_line, stays))
    )
    return "\n".join([*_trim_end(stays), *new]) if new else "\n".join(stays)


def _trim_end(lines: list[str]) -> list[str]:
    end = len(lines)
    while end and not strip_line(lines[end - 1]):
        end -= 1
    return lines[:end]


@dataclass(frozen=True, slots=True)
class UnsavedParts:
    """The parts of an agent's write that were not saved."""

    # New lines that wait for a person.
    waiting: tuple[str, ...]
    # New lines that a person turned down before.
    refused: tuple[str, ...]
    # Lines that the write leaves out, and that stay until a person agrees.
    staying: tuple[str, ...]

    @property
    def is_pending(self) -> bool:
        """Return whether a person will decide on a part."""
        return bool(self.waiting or self.staying)

    @property
    def notice(self) -> str:
        """Return a sentence for each kind of part; empty if everything was saved."""
        sentences = []
        if self.waiting:
            sentences.append(
                f"{_count_waiting(self.waiting)} for a person to approve; until then nobody is told:"
                f" {quote_lines(self.waiting)}"
            )
        if self.refused:
            sentences.append(f"A person turned this down before, so it is not saved: {quote_lines(self.refused)}")
        if self.staying:
            sentences.append(f"What you left out or reworded stays until a person agrees: {quote_lines(self.staying)}")
        return "\n".join(sentences)


def find_unsaved_parts(sent: str, stands: str, refused: frozenset[str] = frozenset()) -> UnsavedParts:
    """Return the parts of the sent text that are not in the text as it is after the write."""
    missing = _lines_beside(sent, stands)
    return UnsavedParts(
        waiting=tuple(line for line in missing if line not in refused),
        refused=tuple(line for line in missing if line in refused),
        staying=_lines_beside(stands, sent),
    )


def _lines_beside(text: str, other: str) -> tuple[str, ...]:
    """Return the lines of a text that the other one does not have."""
    known = distinct_lines(other)
    return tuple(line for line in map(strip_line, split_lines(text)) if line and line not in known)


_QUOTED_CHARACTERS: Final = 160


def _count_waiting(lines: Sequence[str]) -> str:
    return "1 line waits" if len(lines) == 1 else f"{len(lines)} lines wait"


def quote_lines(lines: Iterable[str]) -> str:
    """Return the lines in quotation marks, each cut to a length that a notice can carry."""
    return "; ".join(f"“{line[:_QUOTED_CHARACTERS]}”" for line in lines)
