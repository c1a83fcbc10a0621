"""What people can do with distilled tiers: correct a tier, or request its distillation now (R176)."""

from dataclasses import asdict

from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import IllegalTransition, Invalid, NotVisible
from apps.governance.governed_write import authorize
from apps.governance.policy.policy_table import Act
from apps.governance.refusal_log import recording_refusals
from apps.learning.distillation import tier_runs
from apps.learning.distillation.pipeline import facts_of_row
from apps.learning.distillation.rewrite_vetting import TierFact, count_fact_tokens
from apps.learning.distillation.tier_schedule import BUDGET_TOKENS, Tier
from apps.learning.distillation.tier_text import UnreadableTier, parse_edited_facts, render_editable_facts
from apps.memory.models import MemoryTier
from apps.memory.tier_actions import amend_tier
from apps.tenants.models import Agent


def run_tier(agent_id: int, tier: str, *, actor: Actor) -> None:
    """Request a distillation within a minute, even if the schedule does not include the tier."""
    authorize(actor, Act.TIER_RUN, actor.tenant_id)
    with recording_refusals(actor, Act.TIER_RUN), acting_as(actor):
        if tier not in set(Tier):
            raise Invalid(f"There is no tier {tier}.", {"tier": [f"Choose one of {', '.join(Tier)}."]})
        agent = Agent.objects.visible_to(actor).filter(pk=agent_id).first()
        if agent is None:
            raise NotVisible("There is no such agent.")
        authorize(actor, Act.TIER_RUN, agent.tenant_id, agent_id=agent.pk)
        if not agent.has_learning:
            raise IllegalTransition(
                "Learning is off for this agent, so its memory is not distilled. Switch learning on first."
            )
        tier_runs.request_run(agent.pk, Tier(tier), actor=actor)


def correct_tier(
    row: MemoryTier, *, actor: Actor, text: str, read_at: int | None = None, reason: str = ""
) -> MemoryTier:
    """Replace the facts of a tier; `- !` marks a permanent fact, which no rewrite changes.

    Raises `Invalid` if the text is not a list of facts or exceeds the tier's budget, or if its permanent facts leave no room for
    others.
    """
    before = facts_of_row(row)
    facts = _parse_correction(text, before, Tier(row.tier))
    values = [asdict(fact) for fact in facts]
    return amend_tier(row, actor=actor, body=render_editable_facts(facts), facts=values, read_at=read_at, reason=reason)


def _parse_correction(text: str, before: tuple[TierFact, ...], tier: Tier) -> tuple[TierFact, ...]:
    if tier is Tier.SHORT:
        raise _invalid_body(
            "The short tier is rewritten every night, so a correction would be lost. Correct the mid tier."
        )
    facts = parse_edited_facts(text, before)
    if isinstance(facts, UnreadableTier):
        raise _invalid_body(facts.reason)
    budget = BUDGET_TOKENS[tier]
    if (size := count_fact_tokens(facts)) > budget:
        raise _invalid_body(f"These facts have {size} tokens; the tier allows {budget}. Shorten or remove some.")
    permanent = [fact for fact in facts if fact.is_permanent]
    if (size := count_fact_tokens(permanent)) > (allowed := budget // 2):
        raise _invalid_body(f"Permanent facts have {size} tokens; {allowed} are allowed. Make fewer facts permanent.")
    return facts


def _invalid_body(sentence: str) -> Invalid:
    return Invalid(sentence, {"body": [sentence]})
