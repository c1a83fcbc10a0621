"""Lawful data of distilled memory: tiers as the product stores them, and how each surface performs the acts on them."""

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from django.urls import reverse

from apps.governance.actors import Actor
from apps.governance.policy.policy_table import Act
from apps.learning.distillation.models import TierRun
from apps.learning.distillation.pipeline import distil_due_tiers
from apps.learning.distillation.rewrite_vetting import TierFact, fact_id
from apps.learning.distillation.tier_editing import correct_tier, run_tier
from apps.learning.distillation.tier_text import render_editable_facts
from apps.llm.anthropic.sync_client import AnthropicBackend
from apps.llm.model_backend import ModelBackend
from apps.memory.models import MemoryTier
from apps.memory.tier_actions import approve_tier, clear_tier, store_tier
from tests.support.worlds.world import World

LATE_PARCELS = "Parcels arrive late before holidays."
CORRECTED_TEXT = "- Parcels arrive on time."


def unsaved_tier(world: World, tier: str = "mid") -> MemoryTier:
    """Return a tier that is not stored yet."""
    return MemoryTier(tenant_id=world.tenant.pk, agent=world.agent, tier=tier)


def make_tier(world: World, *texts: str, tier: str = "mid", is_held: bool = False) -> MemoryTier:
    """Make a tier of these facts, as a run leaves it."""
    facts = [TierFact(fact_id(text), text) for text in texts or (LATE_PARCELS,)]
    stored = [asdict(fact) for fact in facts]
    return store_tier(
        unsaved_tier(world, tier), actor=world.system, body=render_editable_facts(facts), facts=stored, is_held=is_held
    )


def make_pending_tier(world: World) -> MemoryTier:
    """Make the first version of the long tier, which waits for a person."""
    return make_tier(world, tier="long", is_held=True)


def distil(world: World, backend: ModelBackend, *tiers: str) -> list[TierRun]:
    """Distil tiers now, at a person's request."""
    for tier in tiers:
        run_tier(world.agent.pk, tier, actor=world.operator)
    return list(distil_due_tiers(world.agent.pk, actor=world.system, backend=backend))


def make_tier_run(world: World) -> TierRun:
    """Make a run of the long tier that found nothing to read and asked no model."""
    [run] = distil(world, AnthropicBackend("nobody", base_url="http://127.0.0.1:9"), "long")
    return run


TIER_SUBJECTS: Mapping[Act, Callable[[World], Any]] = {
    Act.TIER_DISTIL: make_tier,
    Act.TIER_AMEND: make_tier,
    Act.TIER_APPROVE: make_pending_tier,
    Act.TIER_CLEAR: make_tier,
    Act.TIER_RUN: make_tier,
}
# Each takes the scene, the row and, for actions, the actor.
TIER_ACTS: Mapping[Act, Callable[[Any, Any, Actor], object]] = {
    Act.TIER_DISTIL: lambda _, row, actor: store_tier(row, actor=actor, body="- New.", facts=[], is_held=False),
    Act.TIER_AMEND: lambda _, row, actor: correct_tier(row, actor=actor, text=CORRECTED_TEXT),
    Act.TIER_APPROVE: lambda _, row, actor: approve_tier(row, actor=actor),
    Act.TIER_CLEAR: lambda _, row, actor: clear_tier(row, actor=actor),
    Act.TIER_RUN: lambda _, row, actor: run_tier(row.agent_id, row.tier, actor=actor),
}
TIER_REQUESTS: Mapping[Act, Callable[[Any, Any], tuple[str, str, dict[str, object] | None]]] = {
    Act.TIER_AMEND: lambda _, row: ("PATCH", f"tiers/{row.pk}", {"body": CORRECTED_TEXT}),
    Act.TIER_APPROVE: lambda _, row: ("POST", f"tiers/{row.pk}/approve", {}),
    Act.TIER_CLEAR: lambda _, row: ("POST", f"tiers/{row.pk}/clear", {}),
    Act.TIER_RUN: lambda scene, row: ("POST", "tiers/run", {"agent_key": scene.world.agent.key, "tier": row.tier}),
}


def _decision_form(button: str) -> Callable[[Any, Any], tuple[str, dict[str, Any]]]:
    return lambda _, row: (reverse("admin:memory_memorytier_decide", args=[row.pk, button]), {})


TIER_FORMS: Mapping[Act, Callable[[Any, Any], tuple[str, dict[str, Any]]]] = {
    Act.TIER_AMEND: lambda _, row: (reverse("admin:memory_memorytier_change", args=[row.pk]), {"body": CORRECTED_TEXT}),
    Act.TIER_APPROVE: _decision_form("approve"),
    Act.TIER_CLEAR: _decision_form("clear"),
    Act.TIER_RUN: _decision_form("run"),
}
