"""Finds lines of a text that repeat words of a customer or of a tool's result (Z-25).

Words are compared, not meaning: paraphrases and translations are not found. Found are the same words near each other, in any
script, and quoted numbers, amounts, codes, addresses and names.
"""

import codecs
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from apps.prompt.normalization.encoded_text import decode_chunks, decode_escapes, decode_hidden_text
from apps.prompt.normalization.lookalike_folding import identity_fold
from apps.prompt.text_reuse.content_words import ContentWord, extract_content_words, extract_letters
from apps.prompt.text_reuse.quoted_values import Citation, find_citations, find_name_pairs, find_names

# This many distinctive words in a row are no coincidence.
RUN_WORDS: Final = 3
# Two distinctive words form a pair if at most this many words are between them.
NEAR_WORDS: Final = 3
# This many letters in a row are no coincidence either, regardless of spacing.
RUN_LETTERS: Final = 24
# This share of a line's distinctive words must be near each other in the source, in any order.
MIN_WORD_SHARE: Final = 0.6


class RepeatedSource(StrEnum):
    """The source that a line repeats; the names are those of the taints."""

    CUSTOMER = "customer"
    TOOL = "tool"


@dataclass(frozen=True, slots=True)
class ReceivedTexts:
    """Texts that an agent recently received from customers and tools, and the names of customers.

    If there were more texts than can be compared, the value is incomplete, and no text counts as the agent's own.
    """

    customers: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    is_whole: bool = True


NO_RECEIVED_TEXTS: Final = ReceivedTexts()


@dataclass(frozen=True, slots=True)
class DerivedLine:
    """A line that repeats a source, and the repeated part as a half-open range."""

    number: int
    whose: RepeatedSource
    start: int
    end: int


@dataclass(slots=True)
class _TextIndex:
    """The texts of one source, indexed for lookup."""

    runs: set[tuple[str, ...]] = field(default_factory=set)
    pairs: set[tuple[str, str]] = field(default_factory=set)
    letters: set[str] = field(default_factory=set)
    quoted: set[str] = field(default_factory=set)
    named: set[str] = field(default_factory=set)

    def hear(self, text: str) -> None:
        for view in dict.fromkeys(_views(text)):
            keys = [word.key for word in extract_content_words(view)]
            self.runs.update(_word_runs(keys))
            self.pairs.update(_pairs(keys))
            self.letters.update(_letter_runs(extract_letters(view)[0]))
            self.quoted.update(cited.key for cited in find_citations(view))
            self.named.update(find_names(view))


def find_derived_lines(lines: Sequence[str], heard: ReceivedTexts) -> tuple[DerivedLine, ...]:
    """Return the lines that repeat a customer or a tool, in order. A line that repeats both counts as the customer's."""
    found = dict(_find_repeated(lines, _index_texts(heard.tools, ()), RepeatedSource.TOOL))
    found |= dict(_find_repeated(lines, _index_texts(heard.customers, heard.names), RepeatedSource.CUSTOMER))
    return tuple(found[number] for number in sorted(found))


def _index_texts(texts: Iterable[str], known_names: Iterable[str]) -> _TextIndex:
    spoken = _TextIndex()
    for text in texts:
        spoken.hear(text)
    for name in known_names:
        spoken.named.update(cited.key for cited in find_name_pairs(name))
    return spoken


def _views(text: str) -> Iterator[str]:
    """Yield the text, and forms that undo a model's usual changes: without emphasis and escapes, decoded, rot13 reversed."""
    yield text
    plain = decode_escapes(identity_fold(text))
    yield _EMPHASIS.sub("", plain.text)
    once = decode_chunks(plain)
    yield from (view.text for view in (once, decode_chunks(once), decode_hidden_text(plain)) if view.text)
    yield codecs.encode(text, "rot13")


_EMPHASIS: Final = re.compile("[*_~`]+")


def _find_repeated(
    lines: Sequence[str], spoken: _TextIndex, source: RepeatedSource
) -> Iterator[tuple[int, DerivedLine]]:
    words = [extract_content_words(line) for line in lines]
    across = _runs_across_lines(words, spoken)
    for number, line in enumerate(lines):
        spans = [*across.get(number, ()), *_neighbouring_words(words[number], spoken)]
        spans += [*_same_letters(line, spoken), *_quoted_spans(line, spoken)]
        if spans:
            yield number, DerivedLine(number, source, min(start for start, _ in spans), max(end for _, end in spans))


def _runs_across_lines(words: Sequence[Sequence[ContentWord]], spoken: _TextIndex) -> dict[int, list[tuple[int, int]]]:
    """Return the matching runs of words per line; a run may continue across line breaks."""
    flat = [(number, word) for number, line in enumerate(words) for word in line]
    keys = [word.key for _, word in flat]
    found: dict[int, list[tuple[int, int]]] = {}
    for at, run in enumerate(_word_runs(keys)):
        if run in spoken.runs:
            for number, word in flat[at : at + RUN_WORDS]:
                found.setdefault(number, []).append((word.start, word.end))
    return found


def _neighbouring_words(words: Sequence[ContentWord], spoken: _TextIndex) -> list[tuple[int, int]]:
    """Return the words of a line that are near each other in the source too, if they are most of the line's words."""
    kept: set[int] = set()
    for first in range(len(words)):
        for second in range(first + 1, min(first + 1 + NEAR_WORDS, len(words))):
            if _pair(words[first].key, words[second].key) in spoken.pairs:
                kept |= {first, second}
    is_whole = len(kept) == len(words) and len(kept) > 1
    is_most = len(kept) >= RUN_WORDS and len(kept) >= MIN_WORD_SHARE * len(words)
    return [(words[at].start, words[at].end) for at in kept] if is_whole or is_most else []


def _same_letters(line: str, spoken: _TextIndex) -> list[tuple[int, int]]:
    """Return matching runs of letters, with or without spaces between words."""
    compact, places = extract_letters(line)
    found = (at for at, stretch in enumerate(_letter_runs(compact)) if stretch in spoken.letters)
    return [(places[at][0], places[at + RUN_LETTERS - 1][1]) for at in found]


def _quoted_spans(line: str, spoken: _TextIndex) -> list[tuple[int, int]]:
    found: list[Citation] = [cited for cited in find_citations(line) if cited.key in spoken.quoted]
    found += [cited for cited in find_name_pairs(line) if cited.key in spoken.named]
    return [(cited.start, cited.end) for cited in found]


def _word_runs(keys: Sequence[str]) -> Iterator[tuple[str, ...]]:
    return (tuple(keys[at : at + RUN_WORDS]) for at in range(len(keys) - RUN_WORDS + 1))


def _letter_runs(compact: str) -> Iterator[str]:
    return (compact[at : at + RUN_LETTERS] for at in range(len(compact) - RUN_LETTERS + 1))


def _pairs(keys: Sequence[str]) -> Iterator[tuple[str, str]]:
    for distance in range(1, NEAR_WORDS + 1):
        yield from (_pair(first, second) for first, second in zip(keys, keys[distance:], strict=False))


def _pair(first: str, second: str) -> tuple[str, str]:
    return (first, second) if first <= second else (second, first)
