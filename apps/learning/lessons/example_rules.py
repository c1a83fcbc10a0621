"""What of a corrected draft may be shown with any customer: masked, bounded, and found again by its words; pure (Z-12)."""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from apps.learning.lessons.lesson_cases import SAID_CHARACTERS, SITUATION_CHARACTERS
from apps.text_analysis.pii.masking import Firewall
from apps.text_analysis.word_stems import keys

EXAMPLES_KEPT: Final = 200
WORDS_KEPT: Final = 60
# The statement that claims a turn cuts what a customer wrote in the same way.
WORD_LETTERS: Final = 4
WORD_BEGINNING: Final = 6
_WORD: Final = re.compile(rf"[^\W_]{{{WORD_LETTERS},}}")
_MASK: Final = re.compile(r"\[[a-z0-9 -]{1,40}\]")


@dataclass(frozen=True, slots=True)
class Words:
    """A situation, the draft that was wrong in it, and what a person sent in its place."""

    situation: str
    draft: str
    correction: str


@dataclass(frozen=True, slots=True)
class Vetted:
    """Words that may be kept, how often what of each kind was masked in them, and by which words they are found again."""

    words: Words
    masked_counts: Mapping[str, int]
    keywords: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Unfit:
    """Why these words are no example, by field."""

    reasons: Mapping[str, list[str]]


def vet(words: Words, firewall: Firewall) -> Vetted | Unfit:
    """Masked while it is whole and then on one line; never cut, for what is kept is what a person has read."""
    found = {name: firewall.mask(getattr(words, name)) for name in Words.__slots__}
    said = Words(**{name: " ".join(each.text.split()) for name, each in found.items()})
    if reasons := _flaws(said):
        return Unfit(reasons)
    masked = Counter(finding.kind for each in found.values() for finding in each.findings)
    return Vetted(said, dict(sorted(masked.items())), keywords(said.situation))


def _flaws(words: Words) -> dict[str, list[str]]:
    most = {"situation": SITUATION_CHARACTERS, "draft": SAID_CHARACTERS, "correction": SAID_CHARACTERS}
    flaws = {name: _flaw(getattr(words, name), limit) for name, limit in most.items()}
    if not any(flaws.values()) and words.draft.casefold() == words.correction.casefold():
        flaws["correction"] = "It says what the draft says, so it corrects nothing."
    return {name: [flaw] for name, flaw in flaws.items() if flaw}


def _flaw(text: str, limit: int) -> str:
    if not _MASK.sub("", text).strip():
        return "Nothing is left of it but what identifies somebody." if text else "This may not be blank."
    return f"It has {len(text)} characters, and {limit} are the most. Shorten it." if len(text) > limit else ""


def keywords(text: str) -> tuple[str, ...]:
    """The beginnings of its words that say something, each once; endings do not tell words apart."""
    spoken = _WORD.findall(_MASK.sub(" ", text).lower())
    return tuple(dict.fromkeys(word[:WORD_BEGINNING] for word in spoken if keys(word)))[:WORDS_KEPT]


def too_many(kept: int) -> str:
    """The refusal of one more, which says what to do; empty while there is room."""
    if kept < EXAMPLES_KEPT:
        return ""
    return f"The agent has {EXAMPLES_KEPT} examples, which is as many as it may. Retire one that no longer helps first."
