"""Bullets that would weaken what holds: escalation, disclosure, review, hard don'ts, rules, and what may be promised.

An agent that is measured learns what pleases the measure. What it proposes for itself may make it better at its work, and
never loosen what keeps it in bounds. It goes by words, so it is a guard beside the reviewer and none in their place.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from apps.learning.guardrails import loosening_patterns as words
from apps.learning.guardrails.guardrail_loosening import (
    discloses_less,
    escalates_less,
    plays_the_measure,
    reviews_less,
    sets_aside,
)
from apps.prompt.injection_scanner.review_findings import to_confirm
from apps.prompt.normalization.folding import fold, unfolded
from apps.prompt.prompt_input import Disclosure
from apps.text_analysis.contradictions.detection import Kind, Part, Written, contradictions
from apps.text_analysis.contradictions.statements import Force, Statement, statements
from apps.text_analysis.word_stems import keys


class Weakens(StrEnum):
    """What a bullet weakens."""

    ESCALATION = "escalation"
    DISCLOSURE = "disclosure"
    REVIEW = "review"
    COMPENSATION = "compensation"
    MEASURE = "measure"
    AVOID = "avoid"
    RULES = "rules"
    SUSPICIOUS = "suspicious"


@dataclass(frozen=True, slots=True)
class Held:
    """What holds for an agent, whatever it learns: lines to avoid, rules of its people, and when it says what it is."""

    avoid: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    disclosure: Disclosure = Disclosure.ON_REQUEST


@dataclass(frozen=True, slots=True)
class Weakening:
    """One bullet, what it weakens, and why in a sentence."""

    bullet: str
    weakens: Weakens
    reason: str


_REASONS: Final = {
    Weakens.ESCALATION: "It makes the agent hand over less than people want it to.",
    Weakens.DISCLOSURE: "It hides that the agent is an AI, against what the tenant decided.",
    Weakens.REVIEW: "It goes around an approval, a review, a check of identity or a record.",
    Weakens.COMPENSATION: "It promises money or favours that no rule allows.",
    Weakens.MEASURE: "It pleases the measure and not the customer.",
    Weakens.SUSPICIOUS: "It is written as attacks on a model are.",
}


def weakenings(bullets: Sequence[str], held: Held) -> tuple[Weakening, ...]:
    """Every bullet that weakens what holds, with the first reason found for each."""
    found = (next(_weakened(bullet, held), None) for bullet in bullets)
    return tuple(each for each in found if each)


def _weakened(bullet: str, held: Held) -> Iterator[Weakening]:
    if to_confirm([bullet]):
        yield _because(bullet, Weakens.SUSPICIOUS)
    yield from _contradicted(bullet, held)
    reads = " ".join(fold(unfolded(bullet)).text.split())
    if sets_aside(reads):
        yield Weakening(bullet, Weakens.RULES, "It puts itself above the rules.")
    if escalates_less(reads):
        yield _because(bullet, Weakens.ESCALATION)
    if discloses_less(reads, held.disclosure):
        yield _because(bullet, Weakens.DISCLOSURE)
    if reviews_less(reads):
        yield _because(bullet, Weakens.REVIEW)
    if plays_the_measure(reads):
        yield _because(bullet, Weakens.MEASURE)
    if _promises_more(reads, held):
        yield _because(bullet, Weakens.COMPENSATION)


def _because(bullet: str, weakens: Weakens) -> Weakening:
    return Weakening(bullet, weakens, _REASONS[weakens])


def _contradicted(bullet: str, held: Held) -> Iterator[Weakening]:
    """Both as written and as a reader takes it, so that a letter of another script hides nothing."""
    standing = [
        *(Written(f"avoid {number}", Part.AVOID, line) for number, line in enumerate(held.avoid, start=1)),
        *(Written(f"rule {number}", Part.RULE, line) for number, line in enumerate(held.rules, start=1)),
    ]
    new = [Written("the bullet", Part.MEMORY, text) for text in (bullet, fold(unfolded(bullet)).text)]
    found = [each for text in new for each in contradictions([text], standing).findings]
    for finding in sorted(found, key=lambda each: each.kind is not Kind.AVOIDED):
        if finding.other and finding.kind is not Kind.STEPS:
            weakens = Weakens.AVOID if finding.other.record.startswith("avoid") else Weakens.RULES
            yield Weakening(bullet, weakens, f"It contradicts “{finding.other.text}”.")


def _promises_more(reads: str, held: Held) -> bool:
    """Whether it gives without bounds, or an amount, where no rule gives as much."""
    given = [each for each in words.CLAUSES.split(reads) if words.GIVES.search(each) and words.FAVOURS.search(each)]
    if not given or words.ONLY_AFTER.search(given[0]):
        return False
    is_boundless = bool(words.BOUNDLESS.search(reads) or words.PROMISES.search(given[0]))
    told = (each for each in statements(reads) if each.force is Force.DOES and (each.amounts or is_boundless))
    return any(not _is_allowed(each, held) for each in told)


def _is_allowed(given: Statement, held: Held) -> bool:
    return any(_allows(rule, given) for line in held.rules for rule in statements(line))


def _allows(rule: Statement, given: Statement) -> bool:
    """Whether a rule gives the same favour, and no less of it."""
    if rule.force is not Force.DOES or not rule.subject & given.subject & _FAVOUR_KEYS:
        return False
    if not given.amounts:
        return rule.subject <= given.subject | given.condition and rule.condition == given.condition
    return all(
        any(
            of.dimension == each.dimension and each.high <= of.high and rule.condition <= given.condition
            for of in rule.amounts
        )
        for each in given.amounts
    )


_FAVOUR_KEYS: Final = frozenset(
    keys("refund compensation voucher discount credit money free goodwill gift reimburse fee upgrade bonus price")
)
