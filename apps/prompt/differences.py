"""How two prompts differ, slot by slot and line by line, with the owners of every line that came or went."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from apps.prompt.segments import Assembled, Part, Segment
from apps.prompt.values import Slot, Source


@dataclass(frozen=True, slots=True)
class Line:
    """A line as the model reads it, and whose words stand in it, in order; none where it is the product's alone."""

    text: str
    sources: tuple[Source, ...] = ()


@dataclass(frozen=True, slots=True)
class Hunk:
    """One place of a slot where lines went, came, or both."""

    slot: Slot
    removed: tuple[Line, ...]
    added: tuple[Line, ...]

    @property
    def sources(self) -> tuple[Source, ...]:
        """Whose words caused it, each once."""
        return tuple(dict.fromkeys(source for line in (*self.removed, *self.added) for source in line.sources))


def differences(before: Assembled, after: Assembled) -> tuple[Hunk, ...]:
    """Nothing where every slot reads the same. Lines with the same words under another owner are no difference."""
    return tuple(hunk for slot in Slot for hunk in _hunks(slot, _lines_of(before, slot), _lines_of(after, slot)))


def lines(part: Part) -> tuple[Line, ...]:
    """The lines of a slot."""
    return tuple(_lines(part.segments)) if part.text else ()


def _lines_of(assembled: Assembled, slot: Slot) -> tuple[Line, ...]:
    return tuple(line for part in assembled.parts if part.slot is slot for line in lines(part))


def _lines(segments: Sequence[Segment]) -> Iterator[Line]:
    text, sources = "", dict[Source, None]()
    for segment in segments:
        head, *rest = segment.text.split("\n")
        for at, piece in enumerate([head, *rest]):
            if at:
                yield Line(text, tuple(sources))
                text, sources = "", {}
            text += piece
            if segment.source and piece:
                sources[segment.source] = None
    yield Line(text, tuple(sources))


def _hunks(slot: Slot, before: tuple[Line, ...], after: tuple[Line, ...]) -> Iterator[Hunk]:
    matcher = SequenceMatcher(None, [line.text for line in before], [line.text for line in after], autojunk=False)
    for tag, start, end, from_, to in matcher.get_opcodes():
        if tag != "equal":
            yield Hunk(slot, before[start:end], after[from_:to])
