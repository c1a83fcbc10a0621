"""How a sentence tells an agent to hand over less, to hide what it is, to go around review, or to please the measure.

The words that turn something round are counted where they stand before what they turn: skipping it is less of it, and never
skipping it is not. What is read is folded: small letters, and Latin ones where others pose as such.
"""

import re

from apps.learning.guardrails import loosening_patterns as words
from apps.prompt.prompt_input import Disclosure


def _count_negations(reads: str, at: int) -> int:
    return len(words.NEGATIONS.findall(reads[:at]))


def _is_negated(clause: str, target: re.Pattern[str]) -> bool:
    """Whether what the target says is turned round by an odd number of words."""
    reads = words.NEUTRAL_NEGATIONS.sub(" ", clause)
    return any(
        (_count_negations(reads, found.start()) + bool(words.TRAILING_NEGATION.match(reads, found.end()))) % 2 == 1
        for found in target.finditer(reads)
    )


def _clauses(reads: str) -> list[str]:
    return [clause for clause in words.CLAUSE_BREAK.split(reads) if clause]


def has_less_escalation(reads: str) -> bool:
    """Whether it makes the agent hand over less, later, or not at all."""
    if words.RARE_ESCALATION.search(reads) or (
        words.HANDLES_ALONE.search(reads) and not _is_negated(reads, words.HANDLES_ALONE)
    ):
        return True
    return any(
        _is_negated(each, words.HANDOVER) and not words.HANDOVER_PREPARATION.search(each) for each in _clauses(reads)
    )


def has_less_disclosure(reads: str, policy: Disclosure) -> bool:
    """Whether it hides that the agent is an AI further than the tenant's policy does, or passes it off as a person."""
    if _has_human_claim(reads) or (words.EVADES_AI_QUESTION.search(reads) and not words.NEVER_PREFIX.match(reads)):
        return True
    hides = any(_is_negated(each, target) for each in _clauses(reads) for target in (words.REVEALS_AI, words.BEING_AI))
    keeps_quiet = any(_is_negated(each, words.MENTIONS_AI) for each in _clauses(reads))
    if not (hides or keeps_quiet):
        return False
    if policy is Disclosure.ALWAYS or words.EVEN_WHEN_ASKED.search(reads):
        return True
    is_unprompted = words.UNPROMPTED.search(reads) is not None
    return not is_unprompted and (policy is Disclosure.ON_REQUEST or not keeps_quiet)


def _has_human_claim(reads: str) -> bool:
    poses = any(
        words.POSES_AS_HUMAN.search(each) and not _is_negated(each, words.POSES_AS_HUMAN) for each in _clauses(reads)
    )
    return poses or words.INTRODUCED_AS_HUMAN.search(reads) is not None


def has_less_review(reads: str) -> bool:
    """Whether it goes around a person's yes, a check of identity, or a record that people read."""
    if words.WAITS_FOR_REVIEW.search(reads):
        return False
    if words.REVIEW_NOT_NEEDED.search(reads) or words.BEFORE_REVIEW.search(reads):
        return True
    return any(_is_negated(each, words.REVIEW_STEP) for each in _clauses(reads))


def has_metric_gaming(reads: str) -> bool:
    """Whether it makes the agent look better by what is counted, and serves nobody."""
    if any(_is_negated(each, words.COMPLAINT_HELP) for each in _clauses(reads)):
        return True
    return words.METRIC_GAMING.search(reads) is not None and not _is_negated(reads, words.METRIC_GAMING)


def has_rule_override(reads: str) -> bool:
    """Whether it puts itself above the rules as a whole."""
    plain = words.NEUTRAL_NEGATIONS.sub(" ", reads)
    is_told = any(_count_negations(plain, found.start()) % 2 == 0 for found in words.RULE_OVERRIDE.finditer(plain))
    return is_told or words.RULES_OPTIONAL.search(reads) is not None
