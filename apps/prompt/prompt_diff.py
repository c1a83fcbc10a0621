"""Prompt differences: changed lines per slot with the owners of their bytes, and the size of each change.

`difference` works on whole slots. It also says how much of the shared prefix the cache has to write again.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import takewhile
from typing import NamedTuple

from apps.prompt.prompt_input import Slot, Source
from apps.prompt.rendering.segments import Assembled, Part, Segment


class Piece(NamedTuple):
    """A stretch of a line that is one source's own, as rendered; the product's own words are in none."""

    source: Source
    text: str


@dataclass(frozen=True, slots=True)
class Line:
    """A line as the model reads it, and whose words stand in it, in order; none where it is the product's alone."""

    text: str
    pieces: tuple[Piece, ...] = ()

    @property
    def sources(self) -> tuple[Source, ...]:
        """Whose words these are, each once."""
        return tuple(dict.fromkeys(piece.source for piece in self.pieces))


@dataclass(frozen=True, slots=True)
class Hunk:
    """One place of a slot where lines went, came, or both."""

    slot: Slot
    removed: tuple[Line, ...]
    added: tuple[Line, ...]

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """The words that went and came, by source."""
        return tuple(piece for line in (*self.removed, *self.added) for piece in line.pieces)

    @property
    def sources(self) -> tuple[Source, ...]:
        """Whose words caused it, each once."""
        return tuple(dict.fromkeys(piece.source for piece in self.pieces))


@dataclass(frozen=True, slots=True)
class Handover:
    """Words that stayed as they are and passed from some owners to others."""

    slot: Slot
    before: tuple[Source, ...]
    after: tuple[Source, ...]


def differences(before: Assembled, after: Assembled) -> tuple[Hunk, ...]:
    """Nothing where every slot reads the same. Lines with the same words under another owner are no difference."""
    return tuple(hunk for slot in Slot for hunk in _hunks(slot, _lines_of(before, slot), _lines_of(after, slot)))


def handovers(before: Assembled, after: Assembled) -> tuple[Handover, ...]:
    """Whose lines read the same and have other owners, each pair of owners once for a slot."""
    found = (each for slot in Slot for each in _handovers(slot, _lines_of(before, slot), _lines_of(after, slot)))
    return tuple(dict.fromkeys(found))


def is_reordered(before: Assembled, after: Assembled) -> bool:
    """Whether the slots that both have stand in another order."""
    first, then = ([part.slot for part in each.parts] for each in (before, after))
    return [slot for slot in first if slot in then] != [slot for slot in then if slot in first]


def lines(part: Part) -> tuple[Line, ...]:
    """The lines of a slot."""
    return tuple(_lines(part.segments)) if part.text else ()


def _lines_of(assembled: Assembled, slot: Slot) -> tuple[Line, ...]:
    return tuple(line for part in assembled.parts if part.slot is slot for line in lines(part))


def _lines(segments: Sequence[Segment]) -> Iterator[Line]:
    text, pieces = "", list[Piece]()
    for segment in segments:
        for at, words in enumerate(segment.text.split("\n")):
            if at:
                yield Line(text, tuple(pieces))
                text, pieces = "", []
            text += words
            if segment.source and words:
                pieces.append(Piece(segment.source, words))
    yield Line(text, tuple(pieces))


def _hunks(slot: Slot, before: tuple[Line, ...], after: tuple[Line, ...]) -> Iterator[Hunk]:
    for tag, start, end, from_, to in _opcodes(before, after):
        if tag != "equal":
            yield Hunk(slot, before[start:end], after[from_:to])


def _handovers(slot: Slot, before: tuple[Line, ...], after: tuple[Line, ...]) -> Iterator[Handover]:
    for tag, start, end, from_, to in _opcodes(before, after):
        if tag == "equal":
            for line, same in zip(before[start:end], after[from_:to], strict=True):
                if line.sources != same.sources:
                    yield Handover(slot, line.sources, same.sources)


def _opcodes(before: tuple[Line, ...], after: tuple[Line, ...]) -> Sequence[tuple[str, int, int, int, int]]:
    first, then = [line.text for line in before], [line.text for line in after]
    return SequenceMatcher(None, first, then, autojunk=False).get_opcodes()


@dataclass(frozen=True, slots=True)
class SlotDifference:
    """One slot before and after, in bytes of UTF-8; 0 is a slot that is left out."""

    slot: Slot
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class Difference:
    """What a change does to a prompt. All sizes are bytes of UTF-8.

    `rewritten` is what of slots 1-4 stands behind the first byte that differs, as it would be: a cache that held the old
    prefix holds nothing of it. `shared` is all of slots 1-4 as they would be.
    """

    slots: tuple[SlotDifference, ...]
    added: int
    rewritten: int
    shared: int


def difference(before: Assembled, after: Assembled) -> Difference:
    """Slots whose text differs, in the order of the prompt as it would be; those that go stand last."""
    old, new = (joined(prompt) for prompt in (before, after))
    return Difference(
        tuple(_slots(before, after)),
        len(after.text.encode()) - len(before.text.encode()),
        len(new) - _common(old, new) if old != new else 0,
        len(new),
    )


def joined(prompt: Assembled) -> bytes:
    """Slots 1-4 as one text."""
    return Assembled(prompt.shared).text.encode()


def _common(old: bytes, new: bytes) -> int:
    """How many bytes both begin with."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False)))


def _slots(before: Assembled, after: Assembled) -> Iterator[SlotDifference]:
    was = {part.slot: part.text for part in before.parts}
    is_now = {part.slot: part.text for part in after.parts}
    for slot in [*is_now, *(slot for slot in was if slot not in is_now)]:
        texts = was.get(slot, ""), is_now.get(slot, "")
        if texts[0] != texts[1]:
            yield SlotDifference(slot, *(len(text.encode()) for text in texts))
