"""What a text seems to try, and the little language in which the rules for it are written."""

import re
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from functools import cache
from typing import Final, NamedTuple

from apps.prompt.normalization.lookalike_folding import fold_words


class Suspicion(StrEnum):
    """What a finding tells a reviewer; none of them refuses anything."""

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
    """Where the first word of a phrase has to stand: anywhere, where an order begins, or at the start of a sentence."""

    ANYWHERE = 0
    ORDER = 1
    SENTENCE = 2


class RuleSource(NamedTuple):
    """A rule as it is written down: the words it may begin with, what follows, and where it has to stand."""

    suspicion: Suspicion
    beginnings: str
    rest: str
    opening: Opening = Opening.ANYWHERE


@dataclass(frozen=True, slots=True)
class Phrase:
    """What has to follow a word for it to be suspicious, and where the word has to stand."""

    suspicion: Suspicion
    rest: str
    opening: Opening

    def end(self, text: str, at: int) -> int:
        """Where the phrase ends whose first word ends at `at`; 0 if there is none."""
        found = _compile(self.rest).match(text, at)
        return found.end() if found else 0


@cache
def _compile(pattern: str) -> re.Pattern[str]:
    """Compiled when first needed: most texts need few of the patterns."""
    return re.compile(pattern)


_WORD_GAP: Final = r"(?:[^\w]{1,12}+)"
_ANY_WORDS: Final = re.compile(r"@(\d)")


def expand_pattern(pattern: str, lexicon: dict[str, str]) -> str:
    """`~` is what stands between two words, `@3` are up to three words of any kind, `<NAME>` a list of words."""
    spelled = pattern if pattern.isascii() else fold_words(pattern)
    for name, words in lexicon.items():
        spelled = spelled.replace(f"<{name}>", f"(?:{words})")
    spelled = spelled.replace("~", _WORD_GAP)
    return _ANY_WORDS.sub(lambda count: rf"(?:\w{{1,30}}+{_WORD_GAP}){{0,{count[1]}}}?", spelled)
