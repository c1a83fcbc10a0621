"""How a sentence tells an agent to hand over less, to hide what it is, to go around review, or to please the measure.

The words that turn something round are counted where they stand before what they turn: skipping it is less of it, and never
skipping it is not. What is read is folded: small letters, and Latin ones where others pose as such.
"""

import re

from apps.learning.guardrails import loosening_patterns as words
from apps.prompt.prompt_input import Disclosure


def _turns_before(reads: str, at: int) -> int:
    return len(words.TURNS.findall(reads[:at]))


def _is_turned(clause: str, target: re.Pattern[str]) -> bool:
    """Whether what the target says is turned round by an odd number of words."""
    reads = words.NEITHER.sub(" ", clause)
    return any(
        (_turns_before(reads, found.start()) + bool(words.BEHIND.match(reads, found.end()))) % 2 == 1
        for found in target.finditer(reads)
    )


def _clauses(reads: str) -> list[str]:
    return [clause for clause in words.CLAUSES.split(reads) if clause]


def escalates_less(reads: str) -> bool:
    """Whether it makes the agent hand over less, later, or not at all."""
    if words.RARELY.search(reads) or (words.ALONE.search(reads) and not _is_turned(reads, words.ALONE)):
        return True
    return any(_is_turned(each, words.HANDS_OVER) and not words.READY_FIRST.search(each) for each in _clauses(reads))


def discloses_less(reads: str, policy: Disclosure) -> bool:
    """Whether it hides that the agent is an AI further than the tenant's policy does, or passes it off as a person."""
    if _poses(reads) or (words.EVADES.search(reads) and not words.NEVER_FIRST.match(reads)):
        return True
    hides = any(_is_turned(each, target) for each in _clauses(reads) for target in (words.REVEALS, words.BEING_AI))
    keeps_quiet = any(_is_turned(each, words.RAISES) for each in _clauses(reads))
    if not (hides or keeps_quiet):
        return False
    if policy is Disclosure.ALWAYS or words.EVEN_ASKED.search(reads):
        return True
    is_unprompted = words.UNPROMPTED.search(reads) is not None
    return not is_unprompted and (policy is Disclosure.ON_REQUEST or not keeps_quiet)


def _poses(reads: str) -> bool:
    poses = any(words.POSES.search(each) and not _is_turned(each, words.POSES) for each in _clauses(reads))
    return poses or words.NAMED.search(reads) is not None


def reviews_less(reads: str) -> bool:
    """Whether it goes around a person's yes, a check of identity, or a record that people read."""
    if words.GUARDED.search(reads):
        return False
    if words.NOT_NEEDED.search(reads) or words.TOO_EARLY.search(reads):
        return True
    return any(_is_turned(each, words.REVIEWED) for each in _clauses(reads))


def plays_the_measure(reads: str) -> bool:
    """Whether it makes the agent look better by what is counted, and serves nobody."""
    if any(_is_turned(each, words.COMPLAINS) for each in _clauses(reads)):
        return True
    return words.MEASURES.search(reads) is not None and not _is_turned(reads, words.MEASURES)


def sets_aside(reads: str) -> bool:
    """Whether it puts itself above the rules as a whole."""
    plain = words.NEITHER.sub(" ", reads)
    is_told = any(_turns_before(plain, found.start()) % 2 == 0 for found in words.SETS_ASIDE.finditer(plain))
    return is_told or words.MAY_BE_IGNORED.search(reads) is not None
