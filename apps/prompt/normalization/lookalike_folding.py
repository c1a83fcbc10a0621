"""Folds a text to the form that a reader sees, and keeps the original position of each character."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from typing import Final

from apps.prompt.normalization.lookalikes import plain_reading


@dataclass(frozen=True, slots=True)
class FoldedText:
    """A folded text to search; `starts` and `ends` map each character to positions in the raw text."""

    text: str
    starts: Sequence[int]
    ends: Sequence[int]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return the raw span of a non-empty range of the folded text, also in text that runs right to left."""
        first, last = sorted((start, end - 1), key=self.starts.__getitem__)
        return self.starts[first], self.ends[last]

    def chosen(self, text: str, places: Sequence[int]) -> "FoldedText":
        """Return a new folded text whose characters map to the positions in `places`."""
        return FoldedText(text, [self.starts[place] for place in places], [self.ends[place] for place in places])


def identity_fold(text: str) -> FoldedText:
    return FoldedText(text, range(len(text)), range(1, len(text) + 1))


class _ReadingCache(dict[str, str]):
    """A bounded cache of how each character reads, so that an attacker's choice of characters cannot fill the memory."""

    def __missing__(self, character: str) -> str:
        if len(self) >= _MAX_READINGS:
            self.clear()
        self[character] = plain_reading(character)
        return self[character]


_MAX_READINGS: Final = 20_000
_READINGS: Final = _ReadingCache()


def fold(raw: FoldedText) -> FoldedText:
    """Return the text in lower case, without diacritics and hidden characters, with look-alikes as Latin letters."""
    if raw.text.isascii():
        return FoldedText(raw.text.lower().translate(_ASCII_TABLE), raw.starts, raw.ends)
    parts = [_READINGS[character] for character in raw.text]
    if set(map(len, parts)) <= {1}:
        return FoldedText("".join(parts), raw.starts, raw.ends)
    places = list(chain.from_iterable(map(repeat, range(len(parts)), map(len, parts))))
    return raw.chosen("".join(parts), places)


# Invisible characters become spaces within a word instead of being dropped, so that every character keeps its position.
_ASCII_TABLE: Final = str.maketrans({"_": " ", "`": "'", "\x0b": "\n", "\x0c": "\n"})


def unmask_lookalikes(text: str) -> str:
    """Replace look-alikes with Latin letters, one character for one; most texts are returned unchanged."""
    if text.isascii() or not _has_lookalikes(text):
        return text
    return "".join(read if len(read := _READINGS[character]) == 1 else character for character in text)


# In UTF-8: mathematical and circled letters; the first bytes of Greek and Cyrillic.
_LOOKALIKE_BYTES: Final = (b"\xf0\x9d", b"\xe2\x92", b"\xe2\x93")
_FULLWIDTH_LETTERS: Final = re.compile("[\uff21-\uff3a\uff41-\uff5a]")
_OTHER_SCRIPTS: Final = tuple(bytes([first]) for first in range(0xCD, 0xD5))
_LETTERS: Final = bytes(ord("a") if chr(code).isalpha() else code for code in range(128)) + bytes(128)
_MIXED_SCRIPT: Final = re.compile("[\u0370-\u052f](?:(?<=[A-Za-z].)|(?=[A-Za-z]))")


def _has_lookalikes(text: str) -> bool:
    """Return whether letters imitate Latin letters. The bytes are checked first, since few texts need the full check."""
    encoded = text.encode()
    if any(sign in encoded for sign in _LOOKALIKE_BYTES) or (b"\xef" in encoded and _FULLWIDTH_LETTERS.search(text)):
        return True
    if not any(first in encoded for first in _OTHER_SCRIPTS):
        return False
    shape = text.encode("ascii", "replace").translate(_LETTERS)
    return (b"a?" in shape or b"?a" in shape) and _MIXED_SCRIPT.search(text) is not None


def fold_words(words: str) -> str:
    """Return a rule's words as they are spelled in folded text."""
    return "".join(_READINGS[character] for character in words)
