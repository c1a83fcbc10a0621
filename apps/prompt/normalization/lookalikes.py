"""The letter that a reader takes a character for."""

# ruff: noqa: RUF001 - characters that are mistaken for others are what this is about.
import unicodedata
from typing import Final

_LATIN_FOR: Final = {
    "авеікмнорстухјѕԁһӏԛԝ": "abeikmhopctyxjsdhlqw",
    "αβγεηικνορτυχω": "abyenikvoptuxw",
    "օոսհցգ": "onuhgq",
    "ıɡɑɩʀɴɪʟłøđðħŧƙɓɗɛɔ": "igairnilloddhtkbdeo",
    "ᴀʙᴄᴅᴇꜰɢʜᴊᴋᴍᴏᴘꜱᴛᴜᴠᴡʏᴢ": "abcdefghjkmopstuvwyz",
    "‐‑‒–—―−﹣": "--------",
    "‘’‚‛′`´ʼ": "''''''''",
    "“”„‟″«»": '"""""""',
}
_LOOKALIKES: Final = str.maketrans(
    {ord(a): b for many, few in _LATIN_FOR.items() for a, b in zip(many, few, strict=True)}
)
# Letters in squares and circles, and flag letters, which Unicode's compatibility forms do not change.
_ENCLOSED_LETTERS: Final = (0x1F150, 0x1F170, 0x1F1E6)
# Marks above and below letters. Vowel signs of Indic scripts are kept, because readers see them as letters.
_MARKS: Final = (
    (0x300, 0x36F),
    (0x483, 0x489),
    (0x591, 0x5C7),
    (0x610, 0x61A),
    (0x64B, 0x65F),
    (0x670, 0x670),
    (0x6D6, 0x6ED),
    (0x1AB0, 0x1AFF),
    (0x1DC0, 0x1DFF),
    (0x20D0, 0x20FF),
    (0xFE20, 0xFE2F),
)
_INVISIBLE_RANGES: Final = (
    (0x00, 0x08),
    (0x0E, 0x1F),
    (0x7F, 0x84),
    (0x86, 0x9F),
    (0xAD, 0xAD),
    (0x34F, 0x34F),
    (0x61C, 0x61C),
    (0x640, 0x640),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x200B, 0x200F),
    (0x202A, 0x202E),
    (0x2060, 0x206F),
    (0x2800, 0x2800),
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),
    (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0),
    (0xE0000, 0xE0FFF),
)


def plain_reading(character: str) -> str:
    """Return a character as lower-case letters without diacritics, Latin if it looks Latin; empty for an invisible character."""
    code = ord(character)
    if _is_within(code, _INVISIBLE_RANGES) or _is_within(code, _MARKS):
        return ""
    for first in _ENCLOSED_LETTERS:
        if first <= code < first + 26:
            return chr(ord("a") + code - first)
    if character == "_" or (character.isspace() and character not in "\t\n\r"):
        return "\n" if character in "\x0b\x0c\x85\u2028\u2029" else " "
    plain = unicodedata.normalize("NFKD", character).casefold().translate(_LOOKALIKES)
    return "".join(part for part in plain if not _is_within(ord(part), _MARKS))


def _is_within(code: int, ranges: tuple[tuple[int, int], ...]) -> bool:
    return any(first <= code <= last for first, last in ranges)
