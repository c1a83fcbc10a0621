"""Prompt differences: changed lines per slot with the owners of their bytes, and the size of each change.

`diff_prompt_sizes` compares whole slots, and shows how much of the shared prefix the cache has to write again.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import takewhile
from typing import NamedTuple

from apps.prompt.prompt_input import Slot, TextProvenance
from apps.prompt.rendering.segments import PromptSnapshot, Segment, SlotText


class SourcedText(NamedTuple):
    """A part of a line from one source, as rendered; the product's own words have no source."""

    source: TextProvenance
    text: str


@dataclass(frozen=True, slots=True)
class PromptLine:
    """A line as rendered for the model, and its sources in order; none if the whole line is the product's own."""

    text: str
    pieces: tuple[SourcedText, ...] = ()

    @property
    def sources(self) -> tuple[TextProvenance, ...]:
        """Return the distinct sources of the line."""
        return tuple(dict.fromkeys(piece.source for piece in self.pieces))


@dataclass(frozen=True, slots=True)
class Hunk:
    """One position in a slot at which lines were removed, added, or both."""

    slot: Slot
    removed: tuple[PromptLine, ...]
    added: tuple[PromptLine, ...]

    @property
    def pieces(self) -> tuple[SourcedText, ...]:
        """Return the removed and added parts, by source."""
        return tuple(piece for line in (*self.removed, *self.added) for piece in line.pieces)

    @property
    def sources(self) -> tuple[TextProvenance, ...]:
        """Return the distinct sources of the change."""
        return tuple(dict.fromkeys(piece.source for piece in self.pieces))


@dataclass(frozen=True, slots=True)
class OwnerChange:
    """Unchanged text whose owner changed."""

    slot: Slot
    before: tuple[TextProvenance, ...]
    after: tuple[TextProvenance, ...]


def diff_prompt_lines(before: PromptSnapshot, after: PromptSnapshot) -> tuple[Hunk, ...]:
    """Return the changed passages; empty if the text of every slot is the same. A change of owner alone is no difference."""
    return tuple(
        hunk for slot in Slot for hunk in _hunks(slot, _lines_in_slot(before, slot), _lines_in_slot(after, slot))
    )


def diff_owners(before: PromptSnapshot, after: PromptSnapshot) -> tuple[OwnerChange, ...]:
    """Return unchanged lines whose owner changed, each pair of owners once per slot."""
    found = (
        each for slot in Slot for each in _diff_owners(slot, _lines_in_slot(before, slot), _lines_in_slot(after, slot))
    )
    return tuple(dict.fromkeys(found))


def is_reordered(before: PromptSnapshot, after: PromptSnapshot) -> bool:
    """Return whether the order of the common slots differs."""
    first, then = ([part.slot for part in each.parts] for each in (before, after))
    return [slot for slot in first if slot in then] != [slot for slot in then if slot in first]


def slot_lines(part: SlotText) -> tuple[PromptLine, ...]:
    """Return the lines of a slot."""
    return tuple(_split_segments(part.segments)) if part.text else ()


def _lines_in_slot(assembled: PromptSnapshot, slot: Slot) -> tuple[PromptLine, ...]:
    return tuple(line for part in assembled.parts if part.slot is slot for line in slot_lines(part))


def _split_segments(segments: Sequence[Segment]) -> Iterator[PromptLine]:
    text, pieces = "", list[SourcedText]()
    for segment in segments:
        for at, words in enumerate(segment.text.split("\n")):
            if at:
                yield PromptLine(text, tuple(pieces))
                text, pieces = "", []
            text += words
            if segment.source and words:
                pieces.append(SourcedText(segment.source, words))
    yield PromptLine(text, tuple(pieces))


def _hunks(slot: Slot, before: tuple[PromptLine, ...], after: tuple[PromptLine, ...]) -> Iterator[Hunk]:
    for tag, start, end, from_, to in _opcodes(before, after):
        if tag != "equal":
            yield Hunk(slot, before[start:end], after[from_:to])


def _diff_owners(slot: Slot, before: tuple[PromptLine, ...], after: tuple[PromptLine, ...]) -> Iterator[OwnerChange]:
    for tag, start, end, from_, to in _opcodes(before, after):
        if tag == "equal":
            for line, same in zip(before[start:end], after[from_:to], strict=True):
                if line.sources != same.sources:
                    yield OwnerChange(slot, line.sources, same.sources)


def _opcodes(before: tuple[PromptLine, ...], after: tuple[PromptLine, ...]) -> Sequence[tuple[str, int, int, int, int]]:
    first, then = [line.text for line in before], [line.text for line in after]
    return SequenceMatcher(None, first, then, autojunk=False).get_opcodes()


@dataclass(frozen=True, slots=True)
class SlotSizeDiff:
    """The size of one slot before and after, in bytes of UTF-8; 0 for a missing slot."""

    slot: Slot
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class PromptSizeDiff:
    """The effect of a change on a prompt. All sizes are bytes of UTF-8.

    `rewritten` is the part of the new slots 1-4 after the first byte that differs, which a cache of the old prefix does not
    contain. `shared` is the size of the new slots 1-4.
    """

    slots: tuple[SlotSizeDiff, ...]
    added: int
    rewritten: int
    shared: int


def diff_prompt_sizes(before: PromptSnapshot, after: PromptSnapshot) -> PromptSizeDiff:
    """Return the slots with changed text, in the order of the new prompt; removed slots come last."""
    old, new = (shared_prefix_bytes(prompt) for prompt in (before, after))
    return PromptSizeDiff(
        tuple(_changed_slots(before, after)),
        len(after.text.encode()) - len(before.text.encode()),
        len(new) - _common_length(old, new) if old != new else 0,
        len(new),
    )


def shared_prefix_bytes(prompt: PromptSnapshot) -> bytes:
    """Return slots 1-4 as one text."""
    return PromptSnapshot(prompt.shared).text.encode()


def _common_length(old: bytes, new: bytes) -> int:
    """Return the number of bytes in the common prefix."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False)))


def _changed_slots(before: PromptSnapshot, after: PromptSnapshot) -> Iterator[SlotSizeDiff]:
    was = {part.slot: part.text for part in before.parts}
    is_now = {part.slot: part.text for part in after.parts}
    for slot in [*is_now, *(slot for slot in was if slot not in is_now)]:
        texts = was.get(slot, ""), is_now.get(slot, "")
        if texts[0] != texts[1]:
            yield SlotSizeDiff(slot, *(len(text.encode()) for text in texts))
