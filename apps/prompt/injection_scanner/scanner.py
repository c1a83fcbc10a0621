"""Finds text that may be addressed to the model, for a reviewer; it refuses and changes nothing.

Each word is looked up, and a bounded pattern is tried only where a suspicious phrase may begin, so the time grows linearly with
the text. Encoded or spelled-out text is decoded first; findings give its position in the original text.
"""

import codecs
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Final

from apps.prompt.injection_scanner.english_patterns import ENGLISH_PATTERNS, ENGLISH_WORDS
from apps.prompt.injection_scanner.english_role_patterns import ENGLISH_ROLE_PATTERNS
from apps.prompt.injection_scanner.forged_markup import SuspiciousSpan, find_forged_markup, find_hidden_characters
from apps.prompt.injection_scanner.other_language_patterns import (
    OTHER_LANGUAGE_PATTERNS,
    OTHER_LANGUAGE_WORDS,
    UNSPACED_SCRIPT_PATTERNS,
)
from apps.prompt.injection_scanner.rule_language import Opening, Phrase, Suspicion, expand_pattern
from apps.prompt.injection_scanner.spaced_out_phrases import find_spaced_out
from apps.prompt.normalization.encoded_text import decode_chunks, decode_escapes, decode_hidden_text
from apps.prompt.normalization.lookalike_folding import FoldedText, fold, fold_words, identity_fold


@dataclass(frozen=True, slots=True)
class ScannerFinding:
    """A suspicious passage of a text; `start` and `end` count characters of the raw text."""

    rule: Suspicion
    start: int
    end: int


def scan(text: str) -> tuple[ScannerFinding, ...]:
    """Return everything that looks like an attack, from left to right; findings of one rule do not overlap."""
    return tuple(_merge_findings(_scan_all_views(text)))


def _merge_findings(found: Iterable[ScannerFinding]) -> Iterator[ScannerFinding]:
    reach: dict[Suspicion, int] = {}
    for finding in sorted(found, key=lambda one: (one.start, -one.end, one.rule)):
        if finding.start >= reach.get(finding.rule, 0):
            reach[finding.rule] = finding.end
            yield finding


def _scan_all_views(text: str) -> Iterator[ScannerFinding]:
    raw = identity_fold(text)
    yield from _locate_findings(raw, find_hidden_characters(text))
    plain = fold(decode_escapes(raw))
    yield from _locate_findings(plain, _find_suspicious(plain.text))
    for uncovered in _decoded_views(raw, plain):
        for finding in _locate_findings(uncovered, _find_suspicious(uncovered.text)):
            yield finding
            yield ScannerFinding(Suspicion.ENCODED_PAYLOAD, finding.start, finding.end)


def _locate_findings(view: FoldedText, found: Iterable[SuspiciousSpan]) -> Iterator[ScannerFinding]:
    for suspicion, start, end in found:
        yield ScannerFinding(suspicion, *view.span(start, end))


def _decoded_views(raw: FoldedText, plain: FoldedText) -> Iterator[FoldedText]:
    """Yield the decoded forms of a text; none if the text contains nothing encoded."""
    once = decode_chunks(raw)
    for view in (once, decode_chunks(once), decode_hidden_text(raw)):
        if view.text:
            yield fold(decode_escapes(view))
    if any(word in plain.text for word in _REVERSED_WORDS):
        yield plain.chosen(plain.text[::-1], range(len(plain.text) - 1, -1, -1))
    if any(word in plain.text for word in _ROT13_WORDS):
        yield FoldedText(codecs.encode(plain.text, "rot13"), plain.starts, plain.ends)


_TELLTALE_WORDS: Final = ("ignore", "disregard", "instructions", "system prompt", "forget", "anweisungen", "previous")
_REVERSED_WORDS: Final = tuple(word[::-1] for word in _TELLTALE_WORDS)
_ROT13_WORDS: Final = tuple(codecs.encode(word, "rot13") for word in _TELLTALE_WORDS)


def _find_suspicious(text: str) -> Iterator[SuspiciousSpan]:
    yield from _find_phrases(text)
    yield from find_forged_markup(text)
    yield from find_spaced_out(text)
    if not text.isascii():
        yield from _find_unspaced(text)


_WORD: Final = re.compile(r"\w++")
_FREE_TRIES: Final = 2_000
_TRIES_PER_CHARACTER: Final = 0.5


def _find_phrases(text: str) -> Iterator[SuspiciousSpan]:
    """Yield suspicious phrases. In a text with too many possible beginnings, the search stops, and a finding reports that."""
    tries = -_FREE_TRIES
    for word in _WORD.finditer(text):
        if word[0] not in _PHRASES:
            continue
        if tries > word.start() * _TRIES_PER_CHARACTER:
            yield Suspicion.CROWDED, *word.span()
            continue
        tries += 1
        if _any_phrase_pattern(word[0]).match(text, word.end()):
            tries += len(_PHRASES[word[0]])
            yield from _phrases_at(text, word[0], word.start())


@cache
def _any_phrase_pattern(word: str) -> re.Pattern[str]:
    """Return one pattern for all phrases after a word; since usually none follows, a single search suffices."""
    return re.compile("|".join(dict.fromkeys(phrase.rest for phrase in _PHRASES[word])))


def _phrases_at(text: str, word: str, start: int) -> Iterator[SuspiciousSpan]:
    opening = _opening_at(text, start)
    for phrase in _PHRASES[word]:
        if phrase.opening <= opening and (end := phrase.end(text, start + len(word))):
            yield phrase.suspicion, start, end


_ORDER_OPENING: Final = re.compile(
    r"(?:[;,~]\s{0,3}|\b(?:please|just|now|and|then|but|only|instead|to|must|will|should|can|you|bitte|simply|always|also"
    r"|or|und|nun|jetzt|dann|sie|que|et|e|y)\s{1,3})\Z"
)
_SENTENCE_OPENING: Final = re.compile(r"(?:\A\s*|[.!?:\n\"'()\[\]>*#|=-]\s{0,3})\Z")
_LONGEST_OPENING: Final = 16


def _opening_at(text: str, at: int) -> Opening:
    before = text[max(0, at - _LONGEST_OPENING) : at]
    if _SENTENCE_OPENING.search(before):
        return Opening.SENTENCE
    return Opening.ORDER if _ORDER_OPENING.search(before) else Opening.ANYWHERE


def _find_unspaced(text: str) -> Iterator[SuspiciousSpan]:
    for suspicion, beginning, phrase in _UNSPACED_PATTERNS:
        if beginning in text:
            for found in phrase.finditer(text):
                yield suspicion, found.start(), found.end()


def _index_phrases() -> dict[str, tuple[Phrase, ...]]:
    """Return phrases by first word. If a beginning has two words, the second one is part of the phrase's pattern."""
    phrases: defaultdict[str, tuple[Phrase, ...]] = defaultdict(tuple)
    for suspicion, beginnings, rest, opening in (*ENGLISH_PATTERNS, *ENGLISH_ROLE_PATTERNS, *OTHER_LANGUAGE_PATTERNS):
        for beginning in dict.fromkeys(fold_words(_expand_beginnings(beginnings)).split("|")):
            word, _, more = beginning.partition("~")
            pattern = expand_pattern(f"~{more}{rest}" if more else rest, _LEXICON)
            phrases[word] += (Phrase(suspicion, pattern, opening),)
    return dict(phrases)


def _expand_beginnings(beginnings: str) -> str:
    for name, words in _LEXICON.items():
        beginnings = beginnings.replace(f"<{name}>", words)
    return re.sub(r"(\w+)(\w)\?(?=\||\Z|~)", r"\1\2|\1", beginnings)


_LEXICON: Final = ENGLISH_WORDS | OTHER_LANGUAGE_WORDS
_PHRASES: Final = _index_phrases()
_UNSPACED_PATTERNS: Final = tuple(
    (suspicion, fold_words(beginning), re.compile(re.escape(fold_words(beginning)) + fold_words(rest)))
    for suspicion, beginnings, rest in UNSPACED_SCRIPT_PATTERNS
    for beginning in beginnings
)
