"""Finds bullets that would weaken guardrails: escalation, disclosure, review, things to avoid, rules, and limits of promises.

An agent that is measured tends to learn whatever improves the measurement. Its proposals may improve its work, but must never
loosen its limits. The check compares words: it assists the reviewer and does not replace the review.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from apps.learning.guardrails import loosening_patterns as words
from apps.learning.guardrails.guardrail_loosening import (
    has_less_disclosure,
    has_less_escalation,
    has_less_review,
    has_metric_gaming,
    has_rule_override,
)
from apps.prompt.injection_scanner.review_findings import rules_to_confirm
from apps.prompt.normalization.lookalike_folding import fold, identity_fold
from apps.prompt.prompt_input import Disclosure
from apps.text_analysis.contradictions.detection import ContradictionKind, NamedText, TextKind, detect_contradictions
from apps.text_analysis.contradictions.statements import Statement, StatementForce, parse_statements
from apps.text_analysis.word_stems import word_keys


class WeakenedGuardrail(StrEnum):
    """The kind of guardrail that a bullet weakens."""

    ESCALATION = "escalation"
    DISCLOSURE = "disclosure"
    REVIEW = "review"
    COMPENSATION = "compensation"
    MEASURE = "measure"
    AVOID = "avoid"
    RULES = "rules"
    SUSPICIOUS = "suspicious"


@dataclass(frozen=True, slots=True)
class Guardrails:
    """The guardrails of an agent: lines to avoid, rules set by people, and the disclosure policy."""

    avoid: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    disclosure: Disclosure = Disclosure.ON_REQUEST


@dataclass(frozen=True, slots=True)
class GuardrailWeakening:
    """A bullet, the guardrail that it weakens, and the reason as a sentence."""

    bullet: str
    weakens: WeakenedGuardrail
    reason: str


_REASONS: Final = {
    WeakenedGuardrail.ESCALATION: "It makes the agent hand over less than people want.",
    WeakenedGuardrail.DISCLOSURE: "It hides that the agent is an AI, against the tenant's disclosure policy.",
    WeakenedGuardrail.REVIEW: "It bypasses an approval, a review, an identity check or a record.",
    WeakenedGuardrail.COMPENSATION: "It promises money or favours that no rule allows.",
    WeakenedGuardrail.MEASURE: "It improves the metric and not the service.",
    WeakenedGuardrail.SUSPICIOUS: "It is worded like an attack on a model.",
}


def find_weakenings(bullets: Sequence[str], held: Guardrails) -> tuple[GuardrailWeakening, ...]:
    """Return every bullet that weakens a guardrail, with the first reason found for each."""
    found = (next(_check_bullet(bullet, held), None) for bullet in bullets)
    return tuple(each for each in found if each)


def _check_bullet(bullet: str, held: Guardrails) -> Iterator[GuardrailWeakening]:
    if rules_to_confirm([bullet]):
        yield _make_weakening(bullet, WeakenedGuardrail.SUSPICIOUS)
    yield from _contradicted_guardrails(bullet, held)
    reads = " ".join(fold(identity_fold(bullet)).text.split())
    if has_rule_override(reads):
        yield GuardrailWeakening(bullet, WeakenedGuardrail.RULES, "It overrides the rules.")
    if has_less_escalation(reads):
        yield _make_weakening(bullet, WeakenedGuardrail.ESCALATION)
    if has_less_disclosure(reads, held.disclosure):
        yield _make_weakening(bullet, WeakenedGuardrail.DISCLOSURE)
    if has_less_review(reads):
        yield _make_weakening(bullet, WeakenedGuardrail.REVIEW)
    if has_metric_gaming(reads):
        yield _make_weakening(bullet, WeakenedGuardrail.MEASURE)
    if _has_excess_promise(reads, held):
        yield _make_weakening(bullet, WeakenedGuardrail.COMPENSATION)


def _make_weakening(bullet: str, weakens: WeakenedGuardrail) -> GuardrailWeakening:
    return GuardrailWeakening(bullet, weakens, _REASONS[weakens])


def _contradicted_guardrails(bullet: str, held: Guardrails) -> Iterator[GuardrailWeakening]:
    """Yield the guardrails that a bullet contradicts, as written or folded, so that look-alike letters hide nothing."""
    standing = [
        *(NamedText(f"avoid {number}", TextKind.AVOID, line) for number, line in enumerate(held.avoid, start=1)),
        *(NamedText(f"rule {number}", TextKind.RULE, line) for number, line in enumerate(held.rules, start=1)),
    ]
    new = [NamedText("the bullet", TextKind.MEMORY, text) for text in (bullet, fold(identity_fold(bullet)).text)]
    found = [each for text in new for each in detect_contradictions([text], standing).findings]
    for finding in sorted(found, key=lambda each: each.kind is not ContradictionKind.AVOIDED):
        if finding.other and finding.kind is not ContradictionKind.STEPS:
            weakens = WeakenedGuardrail.AVOID if finding.other.record.startswith("avoid") else WeakenedGuardrail.RULES
            yield GuardrailWeakening(bullet, weakens, f"It contradicts “{finding.other.text}”.")


def _has_excess_promise(reads: str, held: Guardrails) -> bool:
    """Return whether a text promises an unlimited favour, or an amount, that no rule allows."""
    given = [
        each
        for each in words.CLAUSE_BREAK.split(reads)
        if words.GIVING_VERB.search(each) and words.FAVOURS.search(each)
    ]
    if not given or words.ONLY_CONDITION.search(given[0]):
        return False
    is_boundless = bool(words.BOUNDLESS.search(reads) or words.PROMISES.search(given[0]))
    promises = (
        each for each in parse_statements(reads) if each.force is StatementForce.DOES and (each.amounts or is_boundless)
    )
    return any(not _is_allowed(each, held) for each in promises)


def _is_allowed(given: Statement, held: Guardrails) -> bool:
    return any(_is_allowed_by(rule, given) for line in held.rules for rule in parse_statements(line))


def _is_allowed_by(rule: Statement, given: Statement) -> bool:
    """Return whether a rule allows the same favour with at least this amount."""
    if rule.force is not StatementForce.DOES or not rule.subject & given.subject & _FAVOUR_KEYS:
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
    word_keys("refund compensation voucher discount credit money free goodwill gift reimburse fee upgrade bonus price")
)
