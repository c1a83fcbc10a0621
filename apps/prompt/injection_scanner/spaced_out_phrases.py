"""Finds phrases whose words are spelled out, split by punctuation, or written with digits for letters; spaces are ignored."""

import re
from collections.abc import Iterator
from typing import Final

from apps.prompt.injection_scanner.rule_language import Suspicion

_LETTER_FOR_DIGIT: Final = str.maketrans("01345789@$!|", "oieastbgasil")
_SIGNS: Final = re.compile(r"[\W_]+")
_DETERMINERS: Final = (
    "(?:all|any|every|of|the|these|those|this|your|my|previous|prior|above|earlier|preceding|foregoing|existing|original|initial"
    "|system|and|other|last|given|safety){1,6}"
)
_ORDERS: Final = "(?:instruction|direction|directive|prompt|rule|guideline|command|programming|order)"
_GERMAN_DETERMINERS: Final = "(?:sie|alle|die|deine|ihre|bisherigen|vorherigen|obigen|samtliche|vorangegangenen){1,5}"
_POSSESSIVES: Final = "(?:your|the|all){1,3}(?:entire|full|exact|system|initial|hidden|secret|original){0,3}"
_SECRETS: Final = "(?:prompt|instructions|secretkey|password|secret)"
_SPACED_OUT_PATTERNS: Final = tuple(
    (suspicion, literals, re.compile(pattern.replace("l", "[li]")))
    for suspicion, literals, pattern in (
        (
            Suspicion.OVERRIDE,
            ("ignore", "disregard", "forget", "override", "bypass"),
            f"(?:ignore|disregard|forget|override|bypass){_DETERMINERS}{_ORDERS}s?",
        ),
        (Suspicion.OVERRIDE, ("forgeteverything",), "forgeteverything(?:above|before|you|prior|previous)"),
        (
            Suspicion.OVERRIDE,
            ("vergiss", "ignoriere"),
            f"(?:vergiss|ignoriere){_GERMAN_DETERMINERS}(?:anweisung|aufgabe|auftrage|befehl|instruktion|regel)(?:en|n|e)?",
        ),
        (
            Suspicion.EXTRACTION,
            ("prompt", "instructions", "secret", "password"),
            "(?:reveal|show|print|repeat|output|display|tell|giveme|leak)(?:me|us|to){0,2}" + _POSSESSIVES + _SECRETS,
        ),
        (Suspicion.PERSONA, ("doanythingnow", "youarenowdan"), "doanythingnow|youarenowdan"),
    )
)
# A run of single letters separated by one or two characters, longer than any spelled-out name.
_SPACED_LETTERS: Final = re.compile(
    r"(?<!\w)(?<!\b\w[ .*|/-])(?<!\b\w[ .*|/-]{2})(?<!\b\w[ .*|/-]{3})[a-z](?:[ .*|/-]{1,3}[a-z](?!\w)){16,}+"
)
# The same as a required literal: each letter becomes `a`, each character between letters a space.
_OUTLINE: Final = str.maketrans(
    {chr(code): "a" for code in range(ord("a"), ord("z") + 1)} | dict.fromkeys(".*|/-", " "),
)
_SPACED_OUTLINES: Final = ("a a a", "a  a  a")


def find_spaced_out(text: str) -> Iterator[tuple[Suspicion, int, int]]:
    outline = text.translate(_OUTLINE) if text.isascii() else text
    if not text.isascii() or any(letters in outline for letters in _SPACED_OUTLINES):
        for found in _SPACED_LETTERS.finditer(text):
            yield Suspicion.ENCODED_PAYLOAD, found.start(), found.end()
    squeezed = _squeeze(text)
    hits = [
        hit
        for hit in _SPACED_OUT_PATTERNS
        if any(literal.replace("l", one) in squeezed for literal in hit[1] for one in "li")
    ]
    if not hits:
        return
    places = [at for at, character in enumerate(text) if character.isalnum() or character in "@$!|"]
    for suspicion, _, pattern in hits:
        for found in pattern.finditer(squeezed):
            yield suspicion, places[found.start()], places[found.end() - 1] + 1


_SQUEEZE_TABLE: Final = _LETTER_FOR_DIGIT | {
    ord(sign): None for sign in map(chr, range(128)) if not sign.isalnum() and sign not in "@$!|"
}


def _squeeze(text: str) -> str:
    """Return only the letters of a text; digits and symbols that look like letters count as letters."""
    if text.isascii():
        return text.translate(_SQUEEZE_TABLE)
    return _SIGNS.sub("", _LETTER_LIKE_SIGNS.sub(lambda sign: sign[0].translate(_LETTER_FOR_DIGIT), text))


_LETTER_LIKE_SIGNS: Final = re.compile("[01345789@$!|]")
