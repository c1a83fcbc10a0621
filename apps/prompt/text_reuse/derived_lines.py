"""Which lines of a text are made of words that a customer wrote or a tool gave back (Z-25).

It goes by words, not by meaning: whoever says the same in words of their own, or in another language, is not seen. What it
does see is the same words in the same neighbourhood, in any script, and numbers, sums, codes, addresses and names quoted.
"""

import codecs
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from apps.prompt.normalization.decoding import decoded, smuggled, unescaped
from apps.prompt.normalization.folding import unfolded
from apps.prompt.text_reuse.content_words import Said, letters, said
from apps.prompt.text_reuse.quoted_values import Citation, citations, named, names

# So many telling words in a row are no accident.
RUN: Final = 3
# A pair of telling words counts as said together when no more than this many stand between.
NEAR: Final = 3
# So many letters in a row are no accident either, however they are spaced.
LETTERS: Final = 24
# This share of a line's telling words, in the customer's neighbourhoods if not in the customer's order.
SHARE: Final = 0.6


class Whose(StrEnum):
    """Who said what a line repeats; the names are those of the taints."""

    CUSTOMER = "customer"
    TOOL = "tool"


@dataclass(frozen=True, slots=True)
class Heard:
    """What an agent was told lately: by customers, by tools, and the names customers go by.

    Where more was said than can be compared it is not whole, and nothing can be called the agent's own.
    """

    customers: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    is_whole: bool = True


NOTHING_HEARD: Final = Heard()


@dataclass(frozen=True, slots=True)
class Derived:
    """A line that repeats somebody, and the stretch of it that does; the end is exclusive."""

    number: int
    whose: Whose
    start: int
    end: int


@dataclass(slots=True)
class _Spoken:
    """Texts of one side, as what can be looked up in them."""

    runs: set[tuple[str, ...]] = field(default_factory=set)
    pairs: set[tuple[str, str]] = field(default_factory=set)
    letters: set[str] = field(default_factory=set)
    quoted: set[str] = field(default_factory=set)
    named: set[str] = field(default_factory=set)

    def hear(self, text: str) -> None:
        for view in dict.fromkeys(_views(text)):
            keys = [word.key for word in said(view)]
            self.runs.update(_runs(keys))
            self.pairs.update(_pairs(keys))
            self.letters.update(_stretches(letters(view)[0]))
            self.quoted.update(cited.key for cited in citations(view))
            self.named.update(names(view))


def derived(lines: Sequence[str], heard: Heard) -> tuple[Derived, ...]:
    """The lines that repeat a customer or a tool, in order; a line of both is the customer's."""
    found = dict(_repeated(lines, _spoken(heard.tools, ()), Whose.TOOL))
    found |= dict(_repeated(lines, _spoken(heard.customers, heard.names), Whose.CUSTOMER))
    return tuple(found[number] for number in sorted(found))


def _spoken(texts: Iterable[str], known_names: Iterable[str]) -> _Spoken:
    spoken = _Spoken()
    for text in texts:
        spoken.hear(text)
    for name in known_names:
        spoken.named.update(cited.key for cited in named(name))
    return spoken


def _views(text: str) -> Iterator[str]:
    """The text, and what a model may make of it: emphasis and escapes taken out, encodings read, rot13 turned back."""
    yield text
    plain = unescaped(unfolded(text))
    yield _EMPHASIS.sub("", plain.text)
    once = decoded(plain)
    yield from (view.text for view in (once, decoded(once), smuggled(plain)) if view.text)
    yield codecs.encode(text, "rot13")


_EMPHASIS: Final = re.compile("[*_~`]+")


def _repeated(lines: Sequence[str], spoken: _Spoken, whose: Whose) -> Iterator[tuple[int, Derived]]:
    words = [said(line) for line in lines]
    across = _across(words, spoken)
    for number, line in enumerate(lines):
        spans = [*across.get(number, ()), *_neighbours(words[number], spoken)]
        spans += [*_spelled(line, spoken), *_quoted(line, spoken)]
        if spans:
            yield number, Derived(number, whose, min(start for start, _ in spans), max(end for _, end in spans))


def _across(words: Sequence[Sequence[Said]], spoken: _Spoken) -> dict[int, list[tuple[int, int]]]:
    """Runs of words, also where line ends were put between them."""
    flat = [(number, word) for number, line in enumerate(words) for word in line]
    keys = [word.key for _, word in flat]
    found: dict[int, list[tuple[int, int]]] = {}
    for at, run in enumerate(_runs(keys)):
        if run in spoken.runs:
            for number, word in flat[at : at + RUN]:
                found.setdefault(number, []).append((word.start, word.end))
    return found


def _neighbours(words: Sequence[Said], spoken: _Spoken) -> list[tuple[int, int]]:
    """The words of a line that stand together there too, if they make up most of the line."""
    kept: set[int] = set()
    for first in range(len(words)):
        for second in range(first + 1, min(first + 1 + NEAR, len(words))):
            if _pair(words[first].key, words[second].key) in spoken.pairs:
                kept |= {first, second}
    is_whole = len(kept) == len(words) and len(kept) > 1
    is_most = len(kept) >= RUN and len(kept) >= SHARE * len(words)
    return [(words[at].start, words[at].end) for at in kept] if is_whole or is_most else []


def _spelled(line: str, spoken: _Spoken) -> list[tuple[int, int]]:
    """The same letters, whether or not the words are kept apart."""
    compact, places = letters(line)
    found = (at for at, stretch in enumerate(_stretches(compact)) if stretch in spoken.letters)
    return [(places[at][0], places[at + LETTERS - 1][1]) for at in found]


def _quoted(line: str, spoken: _Spoken) -> list[tuple[int, int]]:
    found: list[Citation] = [cited for cited in citations(line) if cited.key in spoken.quoted]
    found += [cited for cited in named(line) if cited.key in spoken.named]
    return [(cited.start, cited.end) for cited in found]


def _runs(keys: Sequence[str]) -> Iterator[tuple[str, ...]]:
    return (tuple(keys[at : at + RUN]) for at in range(len(keys) - RUN + 1))


def _stretches(compact: str) -> Iterator[str]:
    return (compact[at : at + LETTERS] for at in range(len(compact) - LETTERS + 1))


def _pairs(keys: Sequence[str]) -> Iterator[tuple[str, str]]:
    for apart in range(1, NEAR + 1):
        yield from (_pair(first, second) for first, second in zip(keys, keys[apart:], strict=False))


def _pair(first: str, second: str) -> tuple[str, str]:
    return (first, second) if first <= second else (second, first)
