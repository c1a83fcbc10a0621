"""Folds a text for the finders: plain digits, spaces and letters, with a mapping to the original positions."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

# Replaces masked text. No finder matches it, matches across it or takes it for the end of a word.
BARRIER: Final = "\x00"
# Replaces text that is kept, such as a price. No finder matches it or matches across it.
KEPT_MARK: Final = "\x01"
RESERVED_CHARACTERS: Final = frozenset((BARRIER, KEPT_MARK))
# Word boundaries for patterns: no adjacent letter, digit or masked text.
WORD_START: Final = r"(?<![\w\x00])"
WORD_END: Final = r"(?![\w\x00])"

_HIDDEN_CATEGORIES: Final = frozenset(("Cf", "Cc", "Mn", "Me"))
_BLANK_LETTERS: Final = frozenset("\u115f\u1160\u3164\uffa0")
_FOLDED_SIGNS: Final = {
    **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d", "-"),
    **dict.fromkeys("\u2018\u2019\u02bc\u00b4", "'"),
    **dict.fromkeys((BARRIER, KEPT_MARK), " "),
    **dict.fromkeys("\n\t", None),
}


@dataclass(frozen=True, slots=True)
class SearchText:
    """The text to search; `origins[n]` is the original position of character n, the last entry the length of the original."""

    text: str
    origins: Sequence[int]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return the original span of a match, including invisible characters inside it."""
        return self.origins[start], self.origins[end - 1] + 1


def fold(text: str) -> SearchText:
    """Remove invisible characters and accents; convert digits, spaces and dashes of other scripts to ASCII."""
    characters, origins = [], []
    for place, character in enumerate(text):
        if plain := _fold_character(character):
            characters.append(plain)
            origins.append(place)
    return SearchText("".join(characters), origins)


@lru_cache(maxsize=8192)
def _fold_character(character: str) -> str:
    if character in _FOLDED_SIGNS:
        return _FOLDED_SIGNS[character] or character
    category = unicodedata.category(character)
    if category in _HIDDEN_CATEGORIES or character in _BLANK_LETTERS:
        return ""
    if category == "Zs":
        return " "
    if category == "Nd":
        return str(unicodedata.decimal(character))
    base = "".join(part for part in unicodedata.normalize("NFKD", character) if not unicodedata.combining(part))
    return base if len(base) == 1 else character
