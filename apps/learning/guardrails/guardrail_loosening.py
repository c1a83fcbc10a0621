"""Detects sentences that tell an agent to escalate less, hide that it is an AI, avoid review, or game a metric.

Negations and words such as "skip" are counted before their target: "skip the escalation" means less escalation, "never skip
the escalation" does not. The text is folded: lower case, with Latin letters in place of look-alikes.
"""

import re

from apps.learning.guardrails import loosening_patterns as words
from apps.prompt.prompt_input import Disclosure


def _count_negations(reads: str, at: int) -> int:
    return len(words.NEGATIONS.findall(reads[:at]))


def _is_negated(clause: str, target: re.Pattern[str]) -> bool:
    """Return whether an odd number of negating words comes before the target."""
    reads = words.NEUTRAL_NEGATIONS.sub(" ", clause)
    return any(
        (_count_negations(reads, found.start()) + bool(words.TRAILING_NEGATION.match(reads, found.end()))) % 2 == 1
        for found in target.finditer(reads)
    )


def _clauses(reads: str) -> list[str]:
    return [clause for clause in words.CLAUSE_BREAK.split(reads) if clause]


def has_less_escalation(reads: str) -> bool:
    """Return whether a text makes the agent escalate less, later, or not at all."""
    if words.RARE_ESCALATION.search(reads) or (
        words.HANDLES_ALONE.search(reads) and not _is_negated(reads, words.HANDLES_ALONE)
    ):
        return True
    return any(
        _is_negated(each, words.HANDOVER) and not words.HANDOVER_PREPARATION.search(each) for each in _clauses(reads)
    )


def has_less_disclosure(reads: str, policy: Disclosure) -> bool:
    """Return whether a text hides that the agent is an AI beyond what the tenant's policy allows, or presents it as a person."""
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
    """Return whether a text avoids a person's approval, an identity check, or a record that people read."""
    if words.WAITS_FOR_REVIEW.search(reads):
        return False
    if words.REVIEW_NOT_NEEDED.search(reads) or words.BEFORE_REVIEW.search(reads):
        return True
    return any(_is_negated(each, words.REVIEW_STEP) for each in _clauses(reads))


def has_metric_gaming(reads: str) -> bool:
    """Return whether a text aims at a metric without serving the customer."""
    if any(_is_negated(each, words.COMPLAINT_HELP) for each in _clauses(reads)):
        return True
    return words.METRIC_GAMING.search(reads) is not None and not _is_negated(reads, words.METRIC_GAMING)


def has_rule_override(reads: str) -> bool:
    """Return whether a text overrides the rules as a whole."""
    plain = words.NEUTRAL_NEGATIONS.sub(" ", reads)
    is_told = any(_count_negations(plain, found.start()) % 2 == 0 for found in words.RULE_OVERRIDE.finditer(plain))
    return is_told or words.RULES_OPTIONAL.search(reads) is not None
