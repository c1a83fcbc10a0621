"""How much a change can break, and who has to agree to it; pure."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType


class RiskTier(StrEnum):
    """What a mistaken yes would cost, from little to much."""

    LOW = "low"
    ELEVATED = "elevated"
    HIGH = "high"


class RiskFactor(StrEnum):
    """What a change reaches."""

    AVOID = "avoid"
    CONTRACT = "contract"
    AUTONOMOUS_SEND = "autonomous_send"
    PAYING_TOOL = "paying_tool"
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
    """What a tenant decided about its reviews, and whom it has for them where that is known."""

    high_risk_reviewers: int = 2
    proposal_days: int = 30
    max_open_proposals: int = 50
    people: frozenset[int] | None = None


@dataclass(frozen=True, slots=True)
class RequiredApprovals:
    """Who has to agree: how many, and whether whoever wrote or edited the words may be one of them."""

    reviewers: int
    may_self_approve: bool


def tier_of(touches: Iterable[RiskFactor]) -> RiskTier:
    """The highest risk of anything that is touched."""
    return highest_tier(*(TIER_BY_FACTOR[touch] for touch in touches))


def highest_tier(*tiers: RiskTier) -> RiskTier:
    """The one that asks most; nothing at all is low."""
    return max(tiers, key=list(RiskTier).index, default=RiskTier.LOW)


def approvals_for_tier(tier: RiskTier, high_risk_reviewers: int) -> RequiredApprovals:
    """At high risk nobody judges their own words, unless the tenant has said that one reviewer is all it has."""
    if tier is RiskTier.HIGH and high_risk_reviewers > 1:
        return RequiredApprovals(high_risk_reviewers, may_self_approve=False)
    return RequiredApprovals(1, may_self_approve=True)


def counted_approvals(reviewers: Collection[int | None], authors: Collection[int], panel: RequiredApprovals) -> int:
    """How many of those who approved these bytes count."""
    return len(set(reviewers) if panel.may_self_approve else set(reviewers) - set(authors))
