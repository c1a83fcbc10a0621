"""Risk tiers of changes, and the approvals that each tier requires. Pure functions."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType


class RiskTier(StrEnum):
    """How costly a mistaken approval would be, from low to high."""

    LOW = "low"
    ELEVATED = "elevated"
    HIGH = "high"


class RiskFactor(StrEnum):
    """An effect of a change that raises its risk tier."""

    AVOID = "avoid"
    CONTRACT = "contract"
    AUTONOMOUS_SEND = "autonomous_send"
    PAYING_TOOL = "paying_tool"
    ORGANISATION_RULES = "organisation_rules"
    PERSONA = "persona"
    RULES = "rules"
    WRITING_TOOL = "writing_tool"
    AGENT_WIDE_MEMORY = "agent_wide_memory"
    SKILL_TEXT = "skill_text"
    CUSTOMER_ONLY = "customer_only"
    RETIREMENT = "retirement"


TIER_BY_FACTOR: Mapping[RiskFactor, RiskTier] = MappingProxyType(
    {
        RiskFactor.AVOID: RiskTier.HIGH,
        RiskFactor.CONTRACT: RiskTier.HIGH,
        RiskFactor.AUTONOMOUS_SEND: RiskTier.HIGH,
        RiskFactor.PAYING_TOOL: RiskTier.HIGH,
        # They reach every customer of every agent.
        RiskFactor.ORGANISATION_RULES: RiskTier.HIGH,
        RiskFactor.PERSONA: RiskTier.ELEVATED,
        RiskFactor.RULES: RiskTier.ELEVATED,
        RiskFactor.WRITING_TOOL: RiskTier.ELEVATED,
        RiskFactor.AGENT_WIDE_MEMORY: RiskTier.ELEVATED,
        RiskFactor.SKILL_TEXT: RiskTier.LOW,
        RiskFactor.CUSTOMER_ONLY: RiskTier.LOW,
        RiskFactor.RETIREMENT: RiskTier.LOW,
    }
)


@dataclass(frozen=True, slots=True)
class ReviewTerms:
    """A tenant's review settings. `people` are the ids of members who may review, or None if they are unknown."""

    high_risk_reviewers: int = 2
    proposal_days: int = 30
    max_open_proposals: int = 50
    people: frozenset[int] | None = None


@dataclass(frozen=True, slots=True)
class RequiredApprovals:
    """The number of reviewers who must approve, and whether an author or editor of the words may be one of them."""

    reviewers: int
    may_self_approve: bool


def tier_of(touches: Iterable[RiskFactor]) -> RiskTier:
    """Return the highest risk tier of these factors."""
    return highest_tier(*(TIER_BY_FACTOR[touch] for touch in touches))


def highest_tier(*tiers: RiskTier) -> RiskTier:
    """Return the highest of these tiers; low if there are none."""
    return max(tiers, key=list(RiskTier).index, default=RiskTier.LOW)


def approvals_for_tier(tier: RiskTier, high_risk_reviewers: int) -> RequiredApprovals:
    """Return the approvals that a tier requires.

    At high risk authors may not approve their own words, unless the tenant requires only one reviewer.
    """
    if tier is RiskTier.HIGH and high_risk_reviewers > 1:
        return RequiredApprovals(high_risk_reviewers, may_self_approve=False)
    return RequiredApprovals(1, may_self_approve=True)


def counted_approvals(reviewers: Collection[int | None], authors: Collection[int], panel: RequiredApprovals) -> int:
    """Return the number of reviewers whose approvals count. Authors do not count if self-approval is not permitted."""
    return len(set(reviewers) if panel.may_self_approve else set(reviewers) - set(authors))
