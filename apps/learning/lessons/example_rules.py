"""Rules for examples (corrected drafts shown with any customer): masked, limited in length, found by keyword; pure (Z-12)."""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from apps.learning.lessons.lesson_cases import LESSON_TEXT_CHARACTERS, SITUATION_CHARACTERS
from apps.text_analysis.pii.masking import PiiMasker
from apps.text_analysis.word_stems import word_keys

MAX_EXAMPLES: Final = 200
MAX_KEYWORDS: Final = 60
# The SQL statement that claims a turn truncates the customer's message to the same length.
MIN_WORD_LETTERS: Final = 4
KEYWORD_LETTERS: Final = 6
_WORD: Final = re.compile(rf"[^\W_]{{{MIN_WORD_LETTERS},}}")
_MASK: Final = re.compile(r"\[[a-z0-9 -]{1,40}\]")


@dataclass(frozen=True, slots=True)
class ExampleTexts:
    """A situation, the wrong draft, and a person's correction."""

    situation: str
    draft: str
    correction: str


@dataclass(frozen=True, slots=True)
class VettedExample:
    """The texts to store, the number of masked items by kind, and the keywords by which the example is found."""

    words: ExampleTexts
    masked_counts: Mapping[str, int]
    keywords: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class UnfitExample:
    """Texts that cannot become an example, with the reasons by field."""

    reasons: Mapping[str, list[str]]


def vet_example(words: ExampleTexts, firewall: PiiMasker) -> VettedExample | UnfitExample:
    """Mask each text as a whole, then join its lines. Nothing is truncated, so the stored text is the text a person has read."""
    found = {name: firewall.mask(getattr(words, name)) for name in ExampleTexts.__slots__}
    clean_texts = ExampleTexts(**{name: " ".join(each.text.split()) for name, each in found.items()})
    if reasons := _flaws(clean_texts):
        return UnfitExample(reasons)
    masked = Counter(finding.kind for each in found.values() for finding in each.findings)
    return VettedExample(clean_texts, dict(sorted(masked.items())), extract_keywords(clean_texts.situation))


def _flaws(words: ExampleTexts) -> dict[str, list[str]]:
    most = {"situation": SITUATION_CHARACTERS, "draft": LESSON_TEXT_CHARACTERS, "correction": LESSON_TEXT_CHARACTERS}
    flaws = {name: _text_flaw(getattr(words, name), limit) for name, limit in most.items()}
    if not any(flaws.values()) and words.draft.casefold() == words.correction.casefold():
        flaws["correction"] = "It equals the draft, so it corrects nothing."
    return {name: [flaw] for name, flaw in flaws.items() if flaw}


def _text_flaw(text: str, limit: int) -> str:
    if not _MASK.sub("", text).strip():
        return "It contains nothing but personal data, which is masked." if text else "This may not be blank."
    return f"It has {len(text)} characters; {limit} are allowed. Shorten it." if len(text) > limit else ""


def extract_keywords(text: str) -> tuple[str, ...]:
    """Return the stems of a text's meaningful words, without duplicates, so that endings do not matter."""
    spoken = _WORD.findall(_MASK.sub(" ", text).lower())
    return tuple(dict.fromkeys(word[:KEYWORD_LETTERS] for word in spoken if word_keys(word)))[:MAX_KEYWORDS]


def example_limit_refusal(kept: int) -> str:
    """Return the refusal of another example and what to do instead; empty if the limit is not reached."""
    if kept < MAX_EXAMPLES:
        return ""
    return f"The agent has {MAX_EXAMPLES} examples, the most that are allowed. Retire one that no longer helps first."
