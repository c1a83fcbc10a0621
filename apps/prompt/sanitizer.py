"""Cleans text that people, agents and customers wrote on its way into a prompt; storage keeps it as it was written.

Safety does not rest on this: what customers wrote is fenced as data besides. Every pattern is bounded or possessive, so
the time grows with the length of the text and with nothing else.
"""

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from apps.prompt.budgets import SECTION_CHARACTERS
from apps.prompt.graphemes import cut
from apps.prompt.values import EventKind, Rule
from apps.prompt.wording import AGENT_RULES, ORGANISATION_RULES, PERSONA_TITLES, SLOT_TITLES

REDACTED: Final = "[redacted]"


@dataclass(frozen=True, slots=True)
class Sanitized:
    """A text that may enter a prompt, and the rules that had to change it."""

    text: str
    notes: tuple[Rule, ...]


def sanitize(text: str, cap: int = SECTION_CHARACTERS) -> Sanitized:
    """The text without hidden characters, forged turns and forged sections, and at most `cap` characters long.

    A cut may lay a forgery bare, so the steps are repeated until they find nothing more.
    """
    tripped: set[Rule] = set()
    while True:
        cleaned = _cleaned_once(text, cap, tripped)
        if cleaned == text:
            return Sanitized(text, tuple(sorted(tripped)))
        text = cleaned


def _cleaned_once(text: str, cap: int, tripped: set[Rule]) -> str:
    for rule, step in _STEPS:
        cleaned = step(text)
        if cleaned != text:
            tripped.add(rule)
        text = cleaned
    if len(text) > cap:
        tripped.add(Rule.TRUNCATED)
    return cut(text, cap)


# Unassigned code points that Unicode reserves as ignorable are listed by range: what a newer table calls them must not
# change the bytes of a prompt. Variation selectors go too (they carry hidden text); an emoji reads the same without.
_INVISIBLE: Final = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f"
    "\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U00013430-\U0001345f\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_LINE_BREAKS: Final = re.compile("[\u2028\u2029]")
_HALF_PAIRS: Final = re.compile("[\ud800-\udfff]")
_JOINERS: Final = re.compile("[\u200c\u200d]")
_VIRAMA_CLASS: Final = 9
# Arabic to Mandaic, Arabic Extended, Indic to Sinhala, Myanmar, Khmer and Mongolian, Arabic presentation forms.
_JOINING_SCRIPTS: Final = re.compile(
    "[\u0600-\u085f\u08a0-\u0dff\u1000-\u109f\u1780-\u18af\ufb50-\ufdff\ufe70-\ufefc\U00011000-\U000119ff]"
)
_EMOJI: Final = re.compile("[\u2190-\u21ff\u2300-\u2bff\U0001f000-\U0001faff]")


def _visible(text: str) -> str:
    """Control, direction, tag, variation and ignorable characters go; a joiner stays where a word or emoji needs it."""
    broken = _LINE_BREAKS.sub("\n", _HALF_PAIRS.sub("\ufffd", text))
    return _JOINERS.sub(_needed_joiner, _INVISIBLE.sub("", broken))


def _needed_joiner(joiner: re.Match[str]) -> str:
    text, at = joiner.string, joiner.start()
    before, after = text[at - 1 : at], text[at + 1 : at + 2]
    if before and unicodedata.combining(before) == _VIRAMA_CLASS:
        return joiner[0]
    scripts = (_JOINING_SCRIPTS, _EMOJI) if joiner[0] == "\u200d" else (_JOINING_SCRIPTS,)
    return joiner[0] if any(script.match(before) and script.match(after) for script in scripts) else ""


_LINE_START: Final = r"(?:\A|(?<=[\r\n]))"
_INDENT: Final = r"[^\S\r\n]*+"
_LINE_END: Final = r"[^\S\r\n]*+(?=[\r\n]|\Z)"
_GAP: Final = r"\s++"
_FORGET: Final = r"\b(?:ignore|disregard|forget|override)" + _GAP
_FILLER: Final = rf"(?:(?:all|any|every|of|the|these|those|this|that|other){_GAP}){{0,4}}"
_EARLIER: Final = (
    r"(?:all|your|previous|prior|above|earlier|preceding|former|foregoing|existing|original|initial|system)"
)
_ORDERS: Final = r"(?:instructions?|prompts?|rules|guidelines|directions|directives|commands|programming)\b"

_PHRASES: Final = re.compile(
    "|".join(
        (
            rf"{_FORGET}{_FILLER}(?:{_EARLIER}{_GAP}){{1,3}}{_ORDERS}",
            rf"{_FORGET}{_FILLER}{_ORDERS}{_GAP}(?:above|before|you{_GAP}(?:were|have{_GAP}been))\b",
            rf"{_FORGET}(?:everything|anything|all){_GAP}(?:of{_GAP})?(?:the{_GAP}|that{_GAP})?(?:above|previous|prior)\b",
            rf"\bforget{_GAP}everything\b",
            rf"\bforget{_GAP}all(?=\s{{0,4}}(?:[.!;\r\n]|\Z))",
            rf"\bnew{_GAP}(?:system{_GAP})?instructions?\s{{0,4}}:",
            r"<\s{0,4}/?\s{0,4}(?:system|assistant|user|developer|human|data)(?:[\s/][^<>]{0,200})?>",
            r"<\|\w{1,32}\|>",
            r"\[/?INST\]",
        )
    ),
    re.IGNORECASE,
)
_TURNS: Final = re.compile(
    rf"{_LINE_START}((?:[^\S\r\n]|[>*_#-])*+)(?:system|assistant|developer|user|human)[^\S\r\n*_]{{0,4}}[*_]{{0,3}}[^\S\r\n]{{0,4}}:",
    re.IGNORECASE,
)


def _without_roles(text: str) -> str:
    return _TURNS.sub(rf"\1{REDACTED}", _PHRASES.sub(REDACTED, text))


_TITLES: Final = "|".join(
    map(re.escape, (*SLOT_TITLES.values(), *PERSONA_TITLES.values(), ORGANISATION_RULES, AGENT_RULES))
)
_LABELS: Final = "|".join(map(re.escape, EventKind))
_FORGERIES: Final = re.compile(
    rf"{_LINE_START}({_INDENT})(?="
    rf"#(?:[^\S\r\n]|[\r\n]|\Z)|#{{1,6}}[^\S\r\n]{{1,4}}(?:{_TITLES})(?:[^\S\r\n]|[:#]){{0,4}}{_LINE_END}"
    rf"|-{{3,}}+{_LINE_END}|-{{3}}[^\S\r\n]{{0,4}}System\b"
    rf"|\[(?:{_LABELS})\b)",
    re.IGNORECASE,
)


def _without_forged_sections(text: str) -> str:
    """A line that would read as one of our own titles, separators or headers is escaped, and keeps its words."""
    return _FORGERIES.sub(r"\1\\", text)


_STEPS: Final[tuple[tuple[Rule, Callable[[str], str]], ...]] = (
    (Rule.INVISIBLE, _visible),
    (Rule.ROLE_CONTROL, _without_roles),
    (Rule.ESCAPED, _without_forged_sections),
)
