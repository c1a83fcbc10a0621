"""Decodes text that a search cannot match but a model can read: entities, escapes, encodings.

This module does not judge the decoded text.
"""

import base64
import binascii
import html
import re
from collections.abc import Iterator
from typing import Final, NamedTuple
from urllib.parse import unquote

from apps.prompt.normalization.lookalike_folding import FoldedText

_ESCAPE: Final = re.compile(
    r"&(?:\#[0-9]{1,7}|\#x[0-9a-f]{1,6}|[a-z]{2,8});?|(?:%[0-7][0-9a-f])++|(?:%[89a-f][0-9a-f])++"
    r"|\\u\{?[0-9a-f]{4,6}\}?|\\x[0-9a-f]{2}|</?[a-z][a-z0-9]{0,10}\s?/?>",
    re.IGNORECASE,
)
# Encoded chunks, each with a required outline of the text: `h` for a hexadecimal digit, `x` for any other letter.
_OUTLINE: Final = str.maketrans(
    dict.fromkeys("0123456789abcdefABCDEF", "h")
    | dict.fromkeys("ghijklmnopqrstuvwxyzGHIJKLMNOPQRSTUVWXYZ+/_", "x")
    | dict.fromkeys(":,-\n\t", " ")
)
_BASE64_RUN: Final = re.compile(r"(?<![a-z0-9+/_-])[a-z0-9+/_-]{16,}+={0,2}", re.IGNORECASE)
_HEX_PAIRS: Final = re.compile(r"(?<![0-9a-z])(?:0x)?[0-9a-f]{2}(?:[\s:,-]{1,2}(?:0x)?[0-9a-f]{2}){7,}+", re.IGNORECASE)
_BINARY_BYTES: Final = re.compile(r"(?<![0-9a-z])[01]{8}(?:\s[01]{8}){5,}+")
_NOT_HEX: Final = re.compile("[^0-9a-f]", re.IGNORECASE)
_READABLE_SHARE: Final = 0.9


class _DecodedSpan(NamedTuple):
    start: int
    end: int
    text: str


def decode_escapes(raw: FoldedText) -> FoldedText:
    """Decode entities, percent and backslash escapes, and remove bare tags inside words."""
    if not any(sign in raw.text for sign in "&%\\<"):
        return raw
    return _replace_spans(
        raw, [_DecodedSpan(*found.span(), _read_escape(found[0])) for found in _ESCAPE.finditer(raw.text)]
    )


def _read_escape(escape: str) -> str:
    match escape[0]:
        case "&":
            return html.unescape(escape if escape.endswith(";") else escape + ";")
        case "%":
            return unquote(escape, errors="replace")
        case "\\":
            code = int(escape[2:].strip("{}"), 16)
            return chr(code) if code <= 0x10FFFF else escape
    return "" if escape.strip("</ >").lower() in _INLINE_TAGS else escape


_INLINE_TAGS: Final = frozenset(
    {"b", "i", "u", "s", "em", "strong", "span", "font", "sub", "sup", "mark", "small", "big", "wbr", "a"}
)


def _replace_spans(raw: FoldedText, pieces: list[_DecodedSpan]) -> FoldedText:
    text: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    at = 0
    for piece in [*pieces, _DecodedSpan(len(raw.text), len(raw.text), "")]:
        text += raw.text[at : piece.start], piece.text
        starts += raw.starts[at : piece.start]
        ends += raw.ends[at : piece.start]
        if len(piece.text) * 3 == piece.end - piece.start:
            starts += raw.starts[piece.start : piece.end : 3]
            ends += raw.ends[piece.start + 2 : piece.end : 3]
        elif piece.text:
            starts += [raw.starts[piece.start]] * len(piece.text)
            ends += [raw.ends[piece.end - 1]] * len(piece.text)
        at = piece.end
    return FoldedText("".join(text), starts, ends)


def decode_chunks(raw: FoldedText) -> FoldedText:
    """Decode the encoded chunks of a text, each in place; every decoded character maps to the whole chunk."""
    return _keep_only_spans(raw, _readable_chunks(raw.text))


def _readable_chunks(text: str) -> Iterator[_DecodedSpan]:
    outline = text.encode("ascii", "replace").decode().translate(_OUTLINE)
    patterns = (
        (_BASE64_RUN, "x" * 16 in outline.replace("h", "x")),
        (_HEX_PAIRS, "hh hh hh hh" in outline or "0x" in text),
        (_BINARY_BYTES, "hhhhhhhh hhhhhhhh" in outline),
    )
    chunks = [found for pattern, worth in patterns if worth for found in pattern.finditer(text)]
    for found in sorted(chunks, key=re.Match.start):
        if words := _decode_chunk(found[0]):
            yield _DecodedSpan(*found.span(), words + " ")


def _decode_chunk(chunk: str) -> str:
    bare = chunk.replace("0x", "")
    digits = _NOT_HEX.sub("", bare)
    if len(digits) >= 0.6 * len(bare):
        if set(digits) <= {"0", "1"}:
            return _readable_text(bytes(int(digits[at : at + 8], 2) for at in range(0, len(digits), 8)))
        return _readable_text(bytes.fromhex(digits[: len(digits) // 2 * 2]))
    letters = chunk.rstrip("=")
    try:
        return _readable_text(
            base64.b64decode(letters + "=" * (-len(letters) % 4), altchars=b"-_" if "-" in letters else None)
        )
    except binascii.Error:
        return ""


def _readable_text(data: bytes) -> str:
    """Return the bytes as text if nearly all of them are printable keyboard characters, else an empty text."""
    readable = sum(map(data.count, _PRINTABLE)) if len(data) < 64 else len(data.translate(None, _UNPRINTABLE))
    return data.decode("utf-8", "replace") if data and readable >= _READABLE_SHARE * len(data) else ""


_PRINTABLE: Final = bytes([9, 10, 13, *range(32, 127)])
_UNPRINTABLE: Final = bytes(set(range(256)) - set(_PRINTABLE))


def decode_hidden_text(raw: FoldedText) -> FoldedText:
    """Decode tag characters and variation selectors, which are invisible to readers but may be read by a model."""
    return _keep_only_spans(raw, _hidden_texts(raw.text))


_HIDDEN_RUN: Final = re.compile("[\U000e0020-\U000e007e]{2,}+|[\ufe00-\ufe0f\U000e0100-\U000e01ef]{2,}+")


def _hidden_texts(text: str) -> Iterator[_DecodedSpan]:
    for found in _HIDDEN_RUN.finditer(text):
        codes = [ord(sign) for sign in found[0]]
        if codes[0] in range(0xE0020, 0xE007F):
            yield _DecodedSpan(*found.span(), "".join(chr(code - 0xE0000) for code in codes) + " ")
        else:
            data = bytes(code - 0xFE00 if code < 0xE0100 else code - 0xE0100 + 16 for code in codes)
            yield _DecodedSpan(*found.span(), data.decode("utf-8", "replace") + " ")


def _keep_only_spans(raw: FoldedText, pieces: Iterator[_DecodedSpan]) -> FoldedText:
    text: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    for piece in pieces:
        text.append(piece.text)
        starts += [raw.starts[piece.start]] * len(piece.text)
        ends += [raw.ends[piece.end - 1]] * len(piece.text)
    return FoldedText("".join(text), starts, ends)
