"""Excerpts of a text around the words of a search query."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

EXCERPT_CHARACTERS: Final = 240
LEADING_CHARACTERS: Final = 80
# Shorter words must match as whole words, as in the search itself.
MIN_PREFIX_LETTERS: Final = 3
_QUERY_TERM: Final = re.compile(r'(-?)("[^"]*"?|[^\s"]+)')
_WORD: Final = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class ExcerptPiece:
    """A piece of an excerpt, and whether it matches the query."""

    text: str
    is_hit: bool = False


def query_words(asked: str) -> tuple[str, ...]:
    """Return the words that results must contain, without excluded words and `or`."""
    kept = (term for without, term in _QUERY_TERM.findall(asked) if not without and term.casefold() != "or")
    return tuple(dict.fromkeys(word for term in kept for word in _WORD.findall(term)))


def make_excerpt(text: str, asked: str) -> tuple[ExcerptPiece, ...]:
    """Return the text around the first match, with every match marked; the beginning of the text if there is no exact match."""
    flat_text, words = " ".join(text.split()), query_words(asked)
    pattern = _pattern(words, begins='"' not in asked) if words else None
    first = pattern.search(flat_text) if pattern else None
    start = _word_boundary(flat_text, first.start() - LEADING_CHARACTERS) if first else 0
    end = (
        len(flat_text)
        if len(flat_text) <= start + EXCERPT_CHARACTERS
        else max(flat_text.rfind(" ", start, start + EXCERPT_CHARACTERS), start + EXCERPT_CHARACTERS // 2)
    )
    pieces = list(_mark_hits(flat_text[start:end], pattern))
    return (*([ExcerptPiece("… ")] if start else []), *pieces, *([ExcerptPiece(" …")] if end < len(flat_text) else []))


def _pattern(words: tuple[str, ...], *, begins: bool) -> re.Pattern[str]:
    each = (
        rf"{re.escape(word)}\w*" if begins and len(word) >= MIN_PREFIX_LETTERS else rf"{re.escape(word)}(?!\w)"
        for word in words
    )
    return re.compile(rf"(?<!\w)(?:{'|'.join(each)})", re.IGNORECASE)


def _word_boundary(text: str, at: int) -> int:
    return text.find(" ", at) + 1 if at > 0 else 0


def _mark_hits(text: str, pattern: re.Pattern[str] | None) -> Iterator[ExcerptPiece]:
    done = 0
    for hit in pattern.finditer(text) if pattern else ():
        if hit.start() > done:
            yield ExcerptPiece(text[done : hit.start()])
        yield ExcerptPiece(hit.group(), is_hit=True)
        done = hit.end()
    if done < len(text):
        yield ExcerptPiece(text[done:])
