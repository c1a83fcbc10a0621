"""Truncates a text without splitting a grapheme cluster, which a reader sees as one character."""

import unicodedata
from typing import Final

_ZERO_WIDTH_JOINER: Final = "\u200d"
_VIRAMA_CLASS: Final = 9
# Extending characters that are not marks: emoji skin tones, half-width voicing marks, Hangul vowels and finals, Thai and Lao AM.
_EXTENDING_RANGES: Final = (
    (0x1F3FB, 0x1F3FF),
    (0xFF9E, 0xFF9F),
    (0x1160, 0x11FF),
    (0xD7B0, 0xD7FF),
    (0x0E33, 0x0E33),
    (0x0EB3, 0x0EB3),
)
# Signs of Arabic, Syriac and Indic scripts that precede the character they belong to.
_LEADING_SIGNS: Final = frozenset(
    "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\u0d4e\U000110bd\U000110cd\U000111c2\U000111c3"
)


def truncate_text(text: str, characters: int) -> str:
    """Return at most this many characters without splitting a cluster; a cluster that does not fit is dropped as a whole."""
    end = min(len(text), characters)
    while 0 < end < len(text) and not _is_boundary(text, end):
        end -= 1
    return text[:end]


def _is_boundary(text: str, at: int) -> bool:
    before, after = text[at - 1], text[at]
    if _is_extending(after) or before == _ZERO_WIDTH_JOINER or before in _LEADING_SIGNS or before + after == "\r\n":
        return False
    if unicodedata.combining(before) == _VIRAMA_CLASS and after.isalpha():
        return False
    return not (_is_flag_letter(after) and _flag_letters_before(text, at) % 2)


def _is_extending(character: str) -> bool:
    if unicodedata.category(character).startswith("M") or character in "\u200c\u200d":
        return True
    return any(first <= ord(character) <= last for first, last in _EXTENDING_RANGES)


def _is_flag_letter(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def _flag_letters_before(text: str, at: int) -> int:
    start = at
    while start and _is_flag_letter(text[start - 1]):
        start -= 1
    return at - start
