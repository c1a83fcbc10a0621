"""A text as a reader takes it, and for each of its characters where in the raw text it came from."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from typing import Final

from apps.prompt.normalization.lookalikes import plain_reading


@dataclass(frozen=True, slots=True)
class FoldedText:
    """A text to search in; `starts` and `ends` say for each character which raw characters it stands for."""

    text: str
    starts: Sequence[int]
    ends: Sequence[int]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The raw characters of a stretch that is not empty, also where the text runs backwards."""
        first, last = sorted((start, end - 1), key=self.starts.__getitem__)
        return self.starts[first], self.ends[last]

    def chosen(self, text: str, places: Sequence[int]) -> "FoldedText":
        """Another text whose characters stand for those at `places`."""
        return FoldedText(text, [self.starts[place] for place in places], [self.ends[place] for place in places])


def identity_fold(text: str) -> FoldedText:
    return FoldedText(text, range(len(text)), range(1, len(text) + 1))


class _ReadingCache(dict[str, str]):
    """What each character reads as, worked out once; an attacker's choice of characters cannot fill the memory."""

    def __missing__(self, character: str) -> str:
        if len(self) >= _MAX_READINGS:
            self.clear()
        self[character] = plain_reading(character)
        return self[character]


_MAX_READINGS: Final = 20_000
_READINGS: Final = _ReadingCache()


def fold(raw: FoldedText) -> FoldedText:
    """The text in lower case, without marks and hidden characters, in Latin letters where it looks like them."""
    if raw.text.isascii():
        return FoldedText(raw.text.lower().translate(_ASCII_TABLE), raw.starts, raw.ends)
    parts = [_READINGS[character] for character in raw.text]
    if set(map(len, parts)) <= {1}:
        return FoldedText("".join(parts), raw.starts, raw.ends)
    places = list(chain.from_iterable(map(repeat, range(len(parts)), map(len, parts))))
    return raw.chosen("".join(parts), places)


# Characters that nobody sees stay here as spaces do in a word, so that every character keeps its place.
_ASCII_TABLE: Final = str.maketrans({"_": " ", "`": "'", "\x0b": "\n", "\x0c": "\n"})


def unmask_lookalikes(text: str) -> str:
    """The text with as many characters, in Latin letters where some pose as such; most texts are returned as they are."""
    if text.isascii() or not _has_lookalikes(text):
        return text
    return "".join(read if len(read := _READINGS[character]) == 1 else character for character in text)


# As UTF-8: letters for mathematics and in circles; the first bytes of Greek and Cyrillic.
_LOOKALIKE_BYTES: Final = (b"\xf0\x9d", b"\xe2\x92", b"\xe2\x93")
_FULLWIDTH_LETTERS: Final = re.compile("[\uff21-\uff3a\uff41-\uff5a]")
_OTHER_SCRIPTS: Final = tuple(bytes([first]) for first in range(0xCD, 0xD5))
_LETTERS: Final = bytes(ord("a") if chr(code).isalpha() else code for code in range(128)) + bytes(128)
_MIXED_SCRIPT: Final = re.compile("[\u0370-\u052f](?:(?<=[A-Za-z].)|(?=[A-Za-z]))")


def _has_lookalikes(text: str) -> bool:
    """Whether letters pose as Latin ones; asked of bytes first, since hardly any text needs a closer look."""
    encoded = text.encode()
    if any(sign in encoded for sign in _LOOKALIKE_BYTES) or (b"\xef" in encoded and _FULLWIDTH_LETTERS.search(text)):
        return True
    if not any(first in encoded for first in _OTHER_SCRIPTS):
        return False
    shape = text.encode("ascii", "replace").translate(_LETTERS)
    return (b"a?" in shape or b"?a" in shape) and _MIXED_SCRIPT.search(text) is not None


def fold_words(words: str) -> str:
    """Words of a rule, in the spelling that they have in a folded text."""
    return "".join(_READINGS[character] for character in words)
