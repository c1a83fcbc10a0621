"""The characters nobody sees, from Unicode's own tables and ranges; the sanitizer's expressions are not asked."""

import re
import sys
import unicodedata
from collections.abc import Iterator
from itertools import chain, compress, count, groupby
from typing import Final

# Default_Ignorable_Code_Point, as Unicode 16 lists it. The joiners among them are judged by their neighbours.
_IGNORABLE: Final = (
    (0xAD, 0xAD),
    (0x34F, 0x34F),
    (0x61C, 0x61C),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x200B, 0x200F),
    (0x202A, 0x202E),
    (0x2060, 0x206F),
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),
    (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0),
    (0xFFF0, 0xFFF8),
    (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A),
    (0xE0000, 0xE0FFF),
)
_JOINERS: Final = frozenset({0x200C, 0x200D})
_LINE_BREAKS: Final = frozenset({0x09, 0x0A, 0x0D})
# Format characters that are seen: they enclose the digits or letters behind them.
_VISIBLE_FORMATS: Final = frozenset({*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD})
_INVISIBLE_CATEGORIES: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_VIRAMA: Final = 9
# The scripts whose words may need a joiner, by the first word of their characters' names.
_JOINING: Final = re.compile(
    r"(?:ADLAM|AHOM|ARABIC|ARABIC-INDIC|BALINESE|BATAK|BENGALI|BHAIKSUKI|BRAHMI|BUGINESE|CHAKMA|CHAM|"
    r"CHORASMIAN|DEVANAGARI|DOGRA|ELYMAIC|EXTENDED|GRANTHA|GUJARATI|GUNJALA|GURMUKHI|HANIFI|JAVANESE|"
    r"KAITHI|KANNADA|KAYAH|KHAROSHTHI|KHMER|KHOJKI|KHUDAWADI|LEPCHA|LIMBU|MAHAJANI|MAKASAR|MALAYALAM|"
    r"MANDAIC|MANICHAEAN|MARCHEN|MASARAM|MEETEI|MODI|MONGOLIAN|MULTANI|MYANMAR|NANDINAGARI|NEW|NEWA|NKO|"
    r"OL|OLD|ORIYA|PHAGS-PA|PSALTER|REJANG|SAMARITAN|SAURASHTRA|SHARADA|SIDDHAM|SINHALA|SOGDIAN|SOYOMBO|"
    r"SUNDANESE|SYLOTI|SYRIAC|TAI|TAKRI|TAMIL|TELUGU|THAANA|TIBETAN|TIRHUTA|VEDIC|ZANABAZAR) "
)
_SYMBOLS: Final = frozenset({"So", "Sk", "Sm"})


def _hidden_points() -> set[int]:
    """Asked of a million code points, and therefore without a line of Python for each."""
    unseen = map(_INVISIBLE_CATEGORIES.__contains__, map(unicodedata.category, map(chr, range(sys.maxunicode + 1))))
    ignorable = chain.from_iterable(range(first, last + 1) for first, last in _IGNORABLE)
    return {*compress(count(), unseen), *ignorable} - _LINE_BREAKS - _VISIBLE_FORMATS - _JOINERS


def _hidden_ranges() -> Iterator[str]:
    """Runs of hidden code points, as a character class wants them."""
    for _, run in groupby(enumerate(sorted(_hidden_points())), lambda numbered: numbered[1] - numbered[0]):
        points = [point for _, point in run]
        yield f"\\U{points[0]:08x}-\\U{points[-1]:08x}"


_HIDDEN: Final = re.compile(f"[{''.join(_hidden_ranges())}]")
_JOINER: Final = re.compile("[\u200c\u200d]")


def find_hidden(text: str) -> list[str]:
    """Each character that must not stand in a prompt, with its place."""
    if text.isascii():
        found = list(_HIDDEN.finditer(text))
    else:
        found = [
            *_HIDDEN.finditer(text),
            *(joiner for joiner in _JOINER.finditer(text) if not _is_joiner_needed(joiner)),
        ]
    return [f"U+{ord(match[0]):04X} at {match.start()}" for match in found]


def _is_joiner_needed(joiner: re.Match[str]) -> bool:
    """Behind a virama, between letters of a script that joins, or (the joiner) between symbols that make one emoji."""
    at, text = joiner.start(), joiner.string
    before, after = text[max(at - 1, 0) : at], text[at + 1 : at + 2]
    if not before:
        return False
    if unicodedata.combining(before) == _VIRAMA:
        return True
    if not after:
        return False
    if _is_joining_script(before) and _is_joining_script(after):
        return True
    return joiner[0] == "\u200d" and _is_symbol(before) and _is_symbol(after)


def _is_joining_script(character: str) -> bool:
    return bool(_JOINING.match(unicodedata.name(character, "")))


def _is_symbol(character: str) -> bool:
    return unicodedata.category(character) in _SYMBOLS or "\U0001f000" <= character <= "\U0001faff"
