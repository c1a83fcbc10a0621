"""Finds the distinctive words of a reply that are also adjacent in a source.

This is a heuristic: words are compared, so a paraphrase is not found, and text that both took from a third source is found.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from apps.prompt.text_reuse.content_words import ContentWord, extract_content_words

CharacterRange: TypeAlias = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Overlap:
    """The share (0 to 1) of the reply's distinctive words that the source has in the same order, and their positions.

    Positions are half-open ranges.
    """

    share: float = 0.0
    in_reply: tuple[CharacterRange, ...] = ()
    in_source: tuple[CharacterRange, ...] = ()


class OverlapPiece(NamedTuple):
    """A part of one line, and whether the other text has the part too."""

    text: str
    is_shared: bool


@dataclass(frozen=True, slots=True)
class WordIndex:
    """The distinctive words of a text, indexed once, with the positions of every adjacent pair and of every number."""

    said: tuple[ContentWord, ...]
    places: dict[tuple[str, ...], list[range]]

    @classmethod
    def of(cls, text: str) -> "WordIndex":
        """Build the index, which is most of the work of a comparison."""
        words = tuple(extract_content_words(text))
        places: dict[tuple[str, ...], list[range]] = defaultdict(list)
        for at, word in enumerate(words):
            if any(map(str.isdecimal, word.key)):
                places[(word.key,)].append(range(at, at + 1))
            if at:
                places[words[at - 1].key, word.key].append(range(at - 1, at + 1))
        return cls(words, dict(places))


NO_OVERLAP = Overlap()


def find_overlap(reply: WordIndex, source: WordIndex) -> Overlap:
    """Return the overlap. A word with a digit counts by itself; any other word counts only if a neighbour is shared too."""
    common = reply.places.keys() & source.places.keys()
    if not common:
        return NO_OVERLAP
    here, there = (_shared_positions(common, words) for words in (reply, source))
    return Overlap(
        len(here) / len(reply.said), _merge_positions(reply.said, here), _merge_positions(source.said, there)
    )


def split_by_overlap(text: str, stretches: Sequence[CharacterRange]) -> tuple[tuple[OverlapPiece, ...], ...]:
    """Return the lines that contain any of the ranges, split where a range begins or ends."""
    lines, start = [], 0
    for line in text.split("\n"):
        end = start + len(line)
        inside = [(max(first, start) - start, min(last, end) - start) for first, last in stretches]
        if shared := [(first, last) for first, last in inside if first < last]:
            lines.append(tuple(_split_line(line, shared)))
        start = end + 1
    return tuple(lines)


def _shared_positions(common: Iterable[tuple[str, ...]], words: WordIndex) -> list[int]:
    return sorted({at for keys in common for places in words.places[keys] for at in places})


def _merge_positions(words: Sequence[ContentWord], marked: Sequence[int]) -> tuple[CharacterRange, ...]:
    """Merge adjacent marked words into ranges."""
    found: list[CharacterRange] = []
    before = -2
    for at in marked:
        start = found.pop()[0] if at == before + 1 else words[at].start
        found.append((start, words[at].end))
        before = at
    return tuple(found)


def _split_line(line: str, shared: Sequence[CharacterRange]) -> Iterator[OverlapPiece]:
    at = 0
    for start, end in shared:
        if at < start:
            yield OverlapPiece(line[at:start], is_shared=False)
        yield OverlapPiece(line[start:end], is_shared=True)
        at = end
    if at < len(line):
        yield OverlapPiece(line[at:], is_shared=False)
