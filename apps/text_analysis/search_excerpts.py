"""Where in a text the words stand that somebody looked for: values in, pieces out."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

SHOWN: Final = 240
BEFORE: Final = 80
# Shorter words count whole, as the search takes them.
BEGINS: Final = 3
_ASKED: Final = re.compile(r'(-?)("[^"]*"?|[^\s"]+)')
_WORD: Final = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of an excerpt, and whether it is what was looked for."""

    text: str
    is_hit: bool = False


def words_of(asked: str) -> tuple[str, ...]:
    """The words that have to stand in what is found: without those left out, and without the `or` between two."""
    kept = (said for without, said in _ASKED.findall(asked) if not without and said.casefold() != "or")
    return tuple(dict.fromkeys(word for said in kept for word in _WORD.findall(said)))


def excerpt_of(text: str, asked: str) -> tuple[Piece, ...]:
    """The text about the first of the words, each of them marked; its beginning where none stands there letter for letter."""
    said, words = " ".join(text.split()), words_of(asked)
    pattern = _pattern(words, begins='"' not in asked) if words else None
    first = pattern.search(said) if pattern else None
    start = _boundary(said, first.start() - BEFORE) if first else 0
    end = len(said) if len(said) <= start + SHOWN else max(said.rfind(" ", start, start + SHOWN), start + SHOWN // 2)
    pieces = list(_pieces(said[start:end], pattern))
    return (*([Piece("… ")] if start else []), *pieces, *([Piece(" …")] if end < len(said) else []))


def _pattern(words: tuple[str, ...], *, begins: bool) -> re.Pattern[str]:
    each = (
        rf"{re.escape(word)}\w*" if begins and len(word) >= BEGINS else rf"{re.escape(word)}(?!\w)" for word in words
    )
    return re.compile(rf"(?<!\w)(?:{'|'.join(each)})", re.IGNORECASE)


def _boundary(said: str, at: int) -> int:
    return said.find(" ", at) + 1 if at > 0 else 0


def _pieces(said: str, pattern: re.Pattern[str] | None) -> Iterator[Piece]:
    done = 0
    for hit in pattern.finditer(said) if pattern else ():
        if hit.start() > done:
            yield Piece(said[done : hit.start()])
        yield Piece(hit.group(), is_hit=True)
        done = hit.end()
    if done < len(said):
        yield Piece(said[done:])
