"""How much a change can break, and who has to agree to it; pure."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType


class Tier(StrEnum):
    """What a mistaken yes would cost, from little to much."""

    LOW = "low"
    ELEVATED = "elevated"
    HIGH = "high"


class Touch(StrEnum):
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


TIER_OF: Mapping[Touch, Tier] = MappingProxyType(
    {
        Touch.AVOID: Tier.HIGH,
        Touch.CONTRACT: Tier.HIGH,
        Touch.AUTONOMOUS_SEND: Tier.HIGH,
        Touch.PAYING_TOOL: Tier.HIGH,
        Touch.PERSONA: Tier.ELEVATED,
        Touch.RULES: Tier.ELEVATED,
        Touch.WRITING_TOOL: Tier.ELEVATED,
        Touch.AGENT_WIDE_MEMORY: Tier.ELEVATED,
        Touch.SKILL_TEXT: Tier.LOW,
        Touch.CUSTOMER_ONLY: Tier.LOW,
        Touch.RETIREMENT: Tier.LOW,
    }
)


@dataclass(frozen=True, slots=True)
class Terms:
    """What a tenant decided about its reviews, and whom it has for them where that is known."""

    high_risk_reviewers: int = 2
    proposal_days: int = 30
    max_open_proposals: int = 50
    people: frozenset[int] | None = None


@dataclass(frozen=True, slots=True)
class Panel:
    """Who has to agree: how many, and whether whoever wrote or edited the words may be one of them."""

    reviewers: int
    may_self_approve: bool


def tier_of(touches: Iterable[Touch]) -> Tier:
    """The highest risk of anything that is touched."""
    return highest(*(TIER_OF[touch] for touch in touches))


def highest(*tiers: Tier) -> Tier:
    """The one that asks most; nothing at all is low."""
    return max(tiers, key=list(Tier).index, default=Tier.LOW)


def panel_for(tier: Tier, high_risk_reviewers: int) -> Panel:
    """At high risk nobody judges their own words, unless the tenant has said that one reviewer is all it has."""
    if tier is Tier.HIGH and high_risk_reviewers > 1:
        return Panel(high_risk_reviewers, may_self_approve=False)
    return Panel(1, may_self_approve=True)


def standing(reviewers: Collection[int | None], authors: Collection[int], panel: Panel) -> int:
    """How many of those who approved these bytes count."""
    return len(set(reviewers) if panel.may_self_approve else set(reviewers) - set(authors))
