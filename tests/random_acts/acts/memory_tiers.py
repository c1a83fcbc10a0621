"""How acts are tried on distilled tiers."""

from collections.abc import Mapping

from apps.governance.policy.policy_table import Act
from apps.learning.distillation.tier_editing import correct_tier, run_tier
from apps.memory.models import MemoryTier
from apps.memory.tier_actions import approve_tier, clear_tier, store_tier
from tests.random_acts.act_choice import ActChoice, ActRunner, amend_row


def _store(chosen: ActChoice) -> object:
    row = MemoryTier.objects.filter(tenant_id=chosen.there.tenant_id, agent=chosen.agent, tier="mid").first()
    row = row or MemoryTier(tenant_id=chosen.there.tenant_id, agent=chosen.agent, tier="mid")
    return store_tier(row, actor=chosen.actor, body=f"- {chosen.words}", facts=[], is_held=bool(chosen.pick % 2))


def _correct(chosen: ActChoice) -> object:
    row = chosen.row(MemoryTier)
    return correct_tier(row, actor=chosen.actor, text=f"- {chosen.words}", read_at=chosen.read_at(row))


def _run(chosen: ActChoice) -> object:
    run_tier(chosen.agent.pk, "mid", actor=chosen.actor)
    return None


TIERS: Mapping[Act, ActRunner] = {
    Act.TIER_DISTIL: _store,
    Act.TIER_AMEND: _correct,
    Act.TIER_APPROVE: amend_row(MemoryTier, approve_tier),
    Act.TIER_CLEAR: amend_row(MemoryTier, clear_tier),
    Act.TIER_RUN: _run,
}
