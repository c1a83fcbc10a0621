"""Finds phrases, turns and tags with which a text tries to control the conversation.

A literal search in a lower-case copy finds the few candidate positions; patterns are tried only at these. Every pattern is
possessive or bounded, and no two attempts read the same characters, so the time grows linearly with the length.
"""

import re
from collections.abc import Iterator
from itertools import chain
from typing import Final, NamedTuple

_GAP: Final = r"[\s*_~`\"'\u2019,-]++"
_ORDERS: Final = r"(?:instructions?|prompts?|rules|guidelines|directions|directives|commands|programming)\b"
_EARLIER: Final = (
    r"(?:all|your|previous|prior|above|earlier|preceding|former|foregoing|existing|original|initial|current|system)"
)
_FILLER: Final = rf"(?:(?:all|any|every|each|about|of|the|these|those|this|that|other){_GAP}){{0,4}}+"
_BEFORE: Final = rf"(?:above|before|earlier|previously|you{_GAP}(?:were|was|have{_GAP}been|had|have|got|received))\b"
_EVERYTHING: Final = r"(?:everything|anything|all)"
_GIVEN_BEFORE: Final = (
    rf"(?:above|previous|prior|before|earlier"
    rf"|you{_GAP}(?:were|was|have{_GAP}been){_GAP}(?:told|given|taught|instructed))\b"
)
_PAUSE: Final = r"(?=\s{0,4}(?:[.!;:,\r\n]|\Z|and\b|then\b|now\b|you\b))"
_FORGET: Final = re.compile(
    rf"\b(?:ignor(?:e|ing)|disregard(?:ing)?|forget(?:ting)?|overrid(?:e|ing)){_GAP}(?:"
    rf"{_FILLER}(?:{_EARLIER}{_GAP}){{1,3}}(?:{_EARLIER}{_GAP}){{0,1}}{_ORDERS}"
    rf"|{_FILLER}{_ORDERS}{_GAP}{_BEFORE}"
    rf"|(?:all|any|every){_GAP}(?:(?:of|the|these|those|other){_GAP}){{0,3}}+{_ORDERS}{_PAUSE}"
    rf"|{_EVERYTHING}{_GAP}(?:of{_GAP})?(?:the{_GAP}|that{_GAP}|i{_GAP}said{_GAP})?{_GIVEN_BEFORE})",
    re.IGNORECASE,
)
_FORGET_ALL: Final = re.compile(
    rf"\bforget{_GAP}(?:everything\b{_PAUSE}|all(?=\s{{0,4}}(?:[.!;\r\n]|\Z)))", re.IGNORECASE
)
_NEW_ORDERS: Final = re.compile(
    rf"\b(?:new|updated|additional){_GAP}(?:system{_GAP})?instructions?\s{{0,4}}[:\uff1a]", re.IGNORECASE
)
_ROLES: Final = (b"system", b"assistant", b"developer", b"user", b"human")
_NAMES: Final = (
    r"(?:system(?:[_-]\w{1,20}+)?|assistant|developer|user|human|data|tool_(?:use|call|result|response)s?"
    r"|function_(?:call|result)s?|(?:start|end)_of_turn)"
)
_TAG: Final = re.compile(
    # An opening tag inside another tag is matched alone, or removing the inner one would turn the outer text into a tag.
    rf"<\s*+/?\s*+{_NAMES}(?:(?:[\s/][^<>]*+)?>|(?=[\s/][^<>]*+<))|<\|[\w ]{{1,64}}\|>|<<\s{{0,4}}/?\s{{0,4}}sys\s{{0,4}}>>",
    re.IGNORECASE,
)
_INST: Final = re.compile(r"\[/?INST\]", re.IGNORECASE)
_TURN: Final = re.compile(
    r"(?:system|assistant|developer|user|human)[^\S\r\n*_]{0,4}(?:(?:message|prompt|instructions?)[^\S\r\n*_]{0,4})?"
    r"[*_]{0,3}[^\S\r\n]{0,4}[:\uff1a]",
    re.IGNORECASE,
)
_MARKUP: Final = re.compile(r"(?:[^\S\r\n]|[>*_#-])*+")
# A writer's statement about themselves ("I always forget everything") is not an instruction.
_NOT_AN_ORDER: Final = re.compile(
    rb"\b(?:i|we|they|he|she|people|customers?|often|always|sometimes|never|not|n't|to|did|might|may|would|will)\s{1,4}\Z"
)


class TextSpan(NamedTuple):
    """A part of a text, as a half-open range of character positions."""

    start: int
    end: int


def ascii_outline(text: str) -> bytes:
    """Return the text for literal searches: lower case, one byte per character, `?` for non-ASCII characters."""
    return text.encode("ascii", "replace").lower().replace(b"\r", b"\n")


def find_role_control(text: str, shadow: bytes) -> tuple[TextSpan, ...]:
    """Return the passages that give orders about the conversation or imitate one of its roles, from left to right."""
    found = sorted(chain(_phrases(text, shadow), _tags(text, shadow), _turns(text, shadow)))
    return tuple(_drop_overlapping(found))


def _drop_overlapping(found: list[TextSpan]) -> Iterator[TextSpan]:
    end = 0
    for stretch in found:
        if stretch.start >= end:
            yield stretch
            end = stretch.end


def _find_all(shadow: bytes, literal: bytes) -> Iterator[int]:
    at = shadow.find(literal)
    while at >= 0:
        yield at
        at = shadow.find(literal, at + 1)


def _phrases(text: str, shadow: bytes) -> Iterator[TextSpan]:
    for verb in (b"ignor", b"disregard", b"forget", b"overrid"):
        for at in _find_all(shadow, verb):
            match = _FORGET.match(text, at) or _FORGET_ALL.match(text, at)
            if match and not (match.re is _FORGET_ALL and _NOT_AN_ORDER.search(shadow[max(0, at - 16) : at])):
                yield TextSpan(*match.span())
    if b"instruction" in shadow:
        yield from (TextSpan(*found.span()) for found in _NEW_ORDERS.finditer(text))


def _tags(text: str, shadow: bytes) -> Iterator[TextSpan]:
    if b"<" in shadow:
        yield from (TextSpan(*found.span()) for found in _TAG.finditer(text))
    if b"inst]" in shadow:
        yield from (TextSpan(*found.span()) for found in _INST.finditer(text))


def _turns(text: str, shadow: bytes) -> Iterator[TextSpan]:
    """Yield every role name with a colon that only space and markup precede on its line."""
    for role in _ROLES:
        before = 0
        for at in _find_all(shadow, role):
            begin = shadow.rfind(b"\n", before, at) + 1
            first_in_line = begin or not before
            before = at + len(role)
            if first_in_line and (match := _TURN.match(text, at)) and _MARKUP.fullmatch(text, begin, at):
                yield TextSpan(*match.span())
