"""Finds values that a text quotes exactly: numbers, amounts, codes, addresses, names."""

import re
import unicodedata
from collections.abc import Iterator
from typing import Final, NamedTuple

from apps.prompt.normalization.lookalike_folding import fold, identity_fold


class Citation(NamedTuple):
    """One quoted value: its key, and its position in the raw text."""

    key: str
    start: int
    end: int


_MIN_DIGITS: Final = 3
# A telephone number is the same number with another prefix.
_PHONE_SUFFIX_DIGITS: Final = 8
# Every repetition is bounded, because a customer chooses the text.
_ADDRESS: Final = re.compile(r"[a-z0-9._%+-]{1,64}@[a-z0-9.-]{1,190}\.[a-z]{2,24}")
_HOST: Final = re.compile(r"(?<![\w.@-])(?:[^\W_][\w-]{0,62}\.){1,8}[^\W\d_]{2,24}(?![\w-])")
_HANDLE: Final = re.compile(r"(?<![\w.])@[\w.]{3,60}")
_SUM: Final = re.compile(r"(?:[$€£¥₹] ?)(\d{1,12}(?:[.,]\d{1,12})?)|(\d{1,12}(?:[.,]\d{1,12})?) ?[%$€£¥₹]")
_CODE: Final = re.compile(r"(?<![\w-])(?=[\w-]{0,40}\d)(?=[\w-]{0,40}[^\W\d_])[\w-]{3,41}(?![\w-])")
_NUMBER: Final = re.compile(r"(?<!\d)\d(?:[ .,()-]{0,2}\d){2,24}(?!\d)")
_YEAR: Final = re.compile(r"(?:19|20)\d\d")
_NAME: Final = re.compile(r"[^\W\d_][^\W\d_'\u2019-]{1,40}[ \u00a0-][^\W\d_][^\W\d_'\u2019-]{1,40}")
_SEPARATORS: Final = str.maketrans("", "", " .,()-")


def find_citations(text: str) -> Iterator[Citation]:
    """Yield every value that a text could quote, except names, which `find_names` finds by their capitals."""
    known = fold(identity_fold(text))
    reads = _to_ascii_digits(known.text)
    for pattern, kind in ((_ADDRESS, "@"), (_HOST, "@"), (_HANDLE, "@"), (_CODE, "#")):
        for found in pattern.finditer(reads):
            yield Citation(f"{kind}{found.group().strip('.-')}", *known.span(*found.span()))
    for found in _SUM.finditer(reads):
        yield Citation(f"%{(found[1] or found[2]).replace(',', '.')}", *known.span(*found.span()))
    for found in _NUMBER.finditer(reads):
        digits = found.group().translate(_SEPARATORS)
        if len(digits) >= _MIN_DIGITS and not _YEAR.fullmatch(digits):
            yield Citation(digits, *known.span(*found.span()))
            if len(digits) > _PHONE_SUFFIX_DIGITS:
                yield Citation(digits[-_PHONE_SUFFIX_DIGITS:], *known.span(*found.span()))


def find_names(text: str) -> Iterator[str]:
    """Yield pairs of capitalised words, each with a key that `find_name_pairs` also yields."""
    at = 0
    while found := _NAME.search(text, at):
        words = re.split("[ \u00a0-]", found.group())
        if all(word[0].isupper() for word in words):
            yield _fold_name(found.group())
        # The second word may begin another pair.
        at = found.start() + len(words[0]) + 1


def find_name_pairs(text: str) -> Iterator[Citation]:
    """Yield every pair of adjacent words of a text, capitalised or not."""
    at = 0
    while found := _NAME.search(text, at):
        yield Citation(_fold_name(found.group()), *found.span())
        at = found.start() + len(re.split("[ \u00a0-]", found.group())[0]) + 1


def _fold_name(words: str) -> str:
    return re.sub("[ \u00a0-]", " ", fold(identity_fold(words)).text)


def _to_ascii_digits(text: str) -> str:
    """Replace the digits of all scripts with 0 to 9, one character for one."""
    if text.isascii():
        return text
    return "".join(str(unicodedata.decimal(each)) if each.isdecimal() else each for each in text)
