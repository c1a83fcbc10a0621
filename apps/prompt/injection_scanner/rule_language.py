"""The kinds of suspicion, and the small language in which scanner rules are written."""

import re
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from functools import cache
from typing import Final, NamedTuple

from apps.prompt.normalization.lookalike_folding import fold_words


class Suspicion(StrEnum):
    """The kind of attack that a finding suggests. No finding refuses a text."""

    OVERRIDE = "override"
    NEW_TASK = "new_task"
    EXTRACTION = "extraction"
    PERSONA = "persona"
    POLICY_REMOVAL = "policy_removal"
    OUTPUT_HIJACK = "output_hijack"
    EXFILTRATION = "exfiltration"
    FORGED_ROLE = "forged_role"
    FORGED_SECTION = "forged_section"
    FORGED_RESULT = "forged_result"
    ENCODED_PAYLOAD = "encoded_payload"
    HIDDEN_CHARACTERS = "hidden_characters"
    CROWDED = "crowded"


class Opening(IntEnum):
    """Where the first word of a phrase must be: anywhere, where an instruction may begin, or at the start of a sentence."""

    ANYWHERE = 0
    ORDER = 1
    SENTENCE = 2


class RuleSource(NamedTuple):
    """A rule as written: its first words, the pattern that follows, and where the rule may begin."""

    suspicion: Suspicion
    beginnings: str
    rest: str
    opening: Opening = Opening.ANYWHERE


@dataclass(frozen=True, slots=True)
class Phrase:
    """The pattern that must follow a first word, and where that word must be."""

    suspicion: Suspicion
    rest: str
    opening: Opening

    def end(self, text: str, at: int) -> int:
        """Return the end of the phrase whose first word ends at `at`; 0 if the pattern does not follow."""
        found = _compile(self.rest).match(text, at)
        return found.end() if found else 0


@cache
def _compile(pattern: str) -> re.Pattern[str]:
    """Compile a pattern at its first use, because most texts need few patterns."""
    return re.compile(pattern)


_WORD_GAP: Final = r"(?:[^\w]{1,12}+)"
_ANY_WORDS: Final = re.compile(r"@(\d)")


def expand_pattern(pattern: str, lexicon: dict[str, str]) -> str:
    """Expand `~` to the gap between words, `@3` to up to three words of any kind, and `<NAME>` to a list of words."""
    spelled = pattern if pattern.isascii() else fold_words(pattern)
    for name, words in lexicon.items():
        spelled = spelled.replace(f"<{name}>", f"(?:{words})")
    spelled = spelled.replace("~", _WORD_GAP)
    return _ANY_WORDS.sub(lambda count: rf"(?:\w{{1,30}}+{_WORD_GAP}){{0,{count[1]}}}?", spelled)
