"""Points out to a reviewer what in a text may be meant for the model; it refuses and changes nothing.

Each word is looked up, and only where a suspicious phrase may begin is a bounded pattern tried, so the time grows with
the length of the text alone. What is encoded or spelled apart is made readable first, and found where it stands.
"""

import codecs
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Final

from apps.prompt.injection_scanner.english_patterns import AGAINST, ENGLISH_WORDS
from apps.prompt.injection_scanner.english_role_patterns import ROLES
from apps.prompt.injection_scanner.forged_markup import Found, forged, hidden
from apps.prompt.injection_scanner.other_language_patterns import TONGUE_WORDS, TONGUES, UNSPACED
from apps.prompt.injection_scanner.rule_language import Opening, Phrase, Suspicion, written_out
from apps.prompt.injection_scanner.spaced_out_phrases import spelled_apart
from apps.prompt.normalization.decoding import decoded, smuggled, unescaped
from apps.prompt.normalization.folding import Folded, fold, folded, unfolded


@dataclass(frozen=True, slots=True)
class Finding:
    """What a stretch of a text seems to try; `start` and `end` count characters of the raw text."""

    rule: Suspicion
    start: int
    end: int


def scan(text: str) -> tuple[Finding, ...]:
    """All that looks like an attack, from left to right; no two findings of one rule overlap."""
    return tuple(_merged(_everything(text)))


def _merged(found: Iterable[Finding]) -> Iterator[Finding]:
    reach: dict[Suspicion, int] = {}
    for finding in sorted(found, key=lambda one: (one.start, -one.end, one.rule)):
        if finding.start >= reach.get(finding.rule, 0):
            reach[finding.rule] = finding.end
            yield finding


def _everything(text: str) -> Iterator[Finding]:
    raw = unfolded(text)
    yield from _placed(raw, hidden(text))
    plain = fold(unescaped(raw))
    yield from _placed(plain, _suspicious(plain.text))
    for uncovered in _uncovered(raw, plain):
        for finding in _placed(uncovered, _suspicious(uncovered.text)):
            yield finding
            yield Finding(Suspicion.ENCODED_PAYLOAD, finding.start, finding.end)


def _placed(view: Folded, found: Iterable[Found]) -> Iterator[Finding]:
    for suspicion, start, end in found:
        yield Finding(suspicion, *view.span(start, end))


def _uncovered(raw: Folded, plain: Folded) -> Iterator[Folded]:
    """The same text read as one would who knows the trick; empty where there is none."""
    once = decoded(raw)
    for view in (once, decoded(once), smuggled(raw)):
        if view.text:
            yield fold(unescaped(view))
    if any(word in plain.text for word in _BACKWARDS):
        yield plain.chosen(plain.text[::-1], range(len(plain.text) - 1, -1, -1))
    if any(word in plain.text for word in _ROTATED):
        yield Folded(codecs.encode(plain.text, "rot13"), plain.starts, plain.ends)


_TELLTALES: Final = ("ignore", "disregard", "instructions", "system prompt", "forget", "anweisungen", "previous")
_BACKWARDS: Final = tuple(word[::-1] for word in _TELLTALES)
_ROTATED: Final = tuple(codecs.encode(word, "rot13") for word in _TELLTALES)


def _suspicious(text: str) -> Iterator[Found]:
    yield from _worded(text)
    yield from forged(text)
    yield from spelled_apart(text)
    if not text.isascii():
        yield from _unspaced(text)


_WORD: Final = re.compile(r"\w++")
_FREE_TRIES: Final = 2_000
_TRIES_A_CHARACTER: Final = 0.5


def _worded(text: str) -> Iterator[Found]:
    """Tries end where a text holds so many beginnings that reading on would take long; that is then said."""
    tries = -_FREE_TRIES
    for word in _WORD.finditer(text):
        if word[0] not in _PHRASES:
            continue
        if tries > word.start() * _TRIES_A_CHARACTER:
            yield Suspicion.CROWDED, *word.span()
            continue
        tries += 1
        if _gate(word[0]).match(text, word.end()):
            tries += len(_PHRASES[word[0]])
            yield from _phrases_at(text, word[0], word.start())


@cache
def _gate(word: str) -> re.Pattern[str]:
    """All that may follow a word in one pattern: nearly always nothing does, and that is known at once."""
    return re.compile("|".join(dict.fromkeys(phrase.rest for phrase in _PHRASES[word])))


def _phrases_at(text: str, word: str, start: int) -> Iterator[Found]:
    opening = _opening(text, start)
    for phrase in _PHRASES[word]:
        if phrase.opening <= opening and (end := phrase.end(text, start + len(word))):
            yield phrase.suspicion, start, end


_ORDER: Final = re.compile(
    r"(?:[;,~]\s{0,3}|\b(?:please|just|now|and|then|but|only|instead|to|must|will|should|can|you|bitte|simply|always|also"
    r"|or|und|nun|jetzt|dann|sie|que|et|e|y)\s{1,3})\Z"
)
_SENTENCE: Final = re.compile(r"(?:\A\s*|[.!?:\n\"'()\[\]>*#|=-]\s{0,3})\Z")
_LONGEST_OPENING: Final = 16


def _opening(text: str, at: int) -> Opening:
    before = text[max(0, at - _LONGEST_OPENING) : at]
    if _SENTENCE.search(before):
        return Opening.SENTENCE
    return Opening.ORDER if _ORDER.search(before) else Opening.ANYWHERE


def _unspaced(text: str) -> Iterator[Found]:
    for suspicion, beginning, phrase in _UNSPACED:
        if beginning in text:
            for found in phrase.finditer(text):
                yield suspicion, found.start(), found.end()


def _by_first_word() -> dict[str, tuple[Phrase, ...]]:
    """A first word may be two words, of which the second then leads the rest."""
    phrases: defaultdict[str, tuple[Phrase, ...]] = defaultdict(tuple)
    for suspicion, beginnings, rest, opening in (*AGAINST, *ROLES, *TONGUES):
        for beginning in dict.fromkeys(folded(_alternatives(beginnings)).split("|")):
            word, _, more = beginning.partition("~")
            pattern = written_out(f"~{more}{rest}" if more else rest, _LEXICON)
            phrases[word] += (Phrase(suspicion, pattern, opening),)
    return dict(phrases)


def _alternatives(beginnings: str) -> str:
    for name, words in _LEXICON.items():
        beginnings = beginnings.replace(f"<{name}>", words)
    return re.sub(r"(\w+)(\w)\?(?=\||\Z|~)", r"\1\2|\1", beginnings)


_LEXICON: Final = ENGLISH_WORDS | TONGUE_WORDS
_PHRASES: Final = _by_first_word()
_UNSPACED: Final = tuple(
    (suspicion, folded(beginning), re.compile(re.escape(folded(beginning)) + folded(rest)))
    for suspicion, beginnings, rest in UNSPACED
    for beginning in beginnings
)
