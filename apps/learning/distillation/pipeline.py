"""Distillation of an agent's memory: load, call a model if needed, check, store; one journal row per run (R168-R176)."""

import json
import logging
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta
from random import random
from typing import Final

from django.utils import timezone

from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import Stale
from apps.kill_switches.models import KillSwitch
from apps.learning.distillation import tier_runs
from apps.learning.distillation.models import TierRun
from apps.learning.distillation.rewrite_vetting import (
    MalformedRewrite,
    RefusedRewrite,
    TierFact,
    parse_rewrite,
    rewrite_schema,
    vet_rewrite,
)
from apps.learning.distillation.session_log import read_session_log
from apps.learning.distillation.tier_runs import DueTier, TierOutcome, write_tier_run
from apps.learning.distillation.tier_schedule import (
    BUDGET_TOKENS,
    Tier,
    TierSettings,
    is_review_needed,
    render_short_tier,
)
from apps.learning.distillation.tier_text import render_editable_facts, source_lines_of
from apps.learning.extraction.pipeline import learning_backend, learning_backend_at, learning_model
from apps.learning.model_spend import LearningBudgetReserved, MeteredBackend
from apps.learning.retry_delay import MOST_FAILURES, retry_delay_seconds
from apps.llm.model_backend import BackendError, ModelBackend, ModelReply, ModelRequest, SystemBlock
from apps.memory.models import MemoryTier
from apps.memory.tier_actions import store_tier
from apps.personas.models import Persona
from apps.prompt.instruction_texts import DISTILLATION_TEXTS
from apps.prompt.learning_prompts.distillation import rewrite_message
from apps.prompt.rendering.data_fences import canonical_json
from apps.tenants.authentication.actor_resolution import system_actor
from apps.tenants.endpoints.decrypted_endpoint import read_decrypted_endpoint
from apps.tenants.models import Agent, TenantSettings
from apps.webhooks.outbox import enqueue_learning_delivery
from apps.webhooks.rules import WebhookEvent

logger = logging.getLogger(__name__)

MAX_TOKENS: Final = 6_000
CALL_SECONDS: Final = 120.0
# The text from which each tier is distilled.
SOURCE_TIERS: Final = {Tier.MID: Tier.SHORT, Tier.LONG: Tier.MID}


@dataclass(frozen=True, slots=True)
class DistillationInput:
    """The current text of a tier, and the text to distil into it."""

    tier: Tier
    row: MemoryTier
    before: tuple[TierFact, ...]
    source: str
    voice: str
    stored_runs: int


def attempt_distillation(tenant_id: int, agent_id: int) -> None:
    """Distil the due tiers in the tenant named by the task."""
    distil_due_tiers(agent_id, actor=system_actor(tenant_id, "distiller"), backend=learning_backend())


def distil_due_tiers(agent_id: int, *, actor: Actor, backend: ModelBackend) -> tuple[TierRun, ...]:
    """Distil every due tier of an agent, in order, since each tier is distilled from the shorter one."""
    with acting_as(actor):
        agent = Agent.objects.visible_to(actor).filter(pk=agent_id).first()
    if agent is None or not agent.has_learning:
        return ()
    tier_runs.create_clocks(agent, actor=actor)
    runs = (_run_if_due(agent, tier, actor, backend) for tier in Tier)
    return tuple(run for run in runs if run)


def _run_if_due(agent: Agent, tier: Tier, actor: Actor, backend: ModelBackend) -> TierRun | None:
    due = tier_runs.claim_tier(agent.pk, tier, actor=actor)
    if due is None:
        return None
    if (not due.requested_by and not tier_settings_of(agent).is_on(tier)) or _is_frozen(agent, actor):
        with acting_as(actor):
            tier_runs.release_tier(agent.pk, tier, actor=actor)
        return None
    with acting_as(actor):
        material = _load_input(agent, tier, actor)
    try:
        counted = MeteredBackend(_backend_for_tier(agent, tier, backend, actor), agent.pk, actor)
        outcome = _distil_tier(agent, material, counted, actor)
    except LearningBudgetReserved as error:
        _postpone_tier(agent, due, error, actor)
        return None
    except BackendError as error:
        if due.failures + 1 < MOST_FAILURES and error.is_worth_retrying:
            _postpone_tier(agent, due, error, actor)
            return None
        outcome = TierOutcome(TierRun.Verdict.FAILED, reasons=(f"The model failed ({error.code}). {error}",))
    try:
        return _store_outcome(agent, due, material, outcome, actor)
    except Stale:
        # A person corrected the tier during the model call, so the next run starts from the corrected text.
        tier_runs.postpone_tier(agent.pk, due, timezone.now(), actor=actor)
        return None


def _backend_for_tier(agent: Agent, tier: Tier, backend: ModelBackend, actor: Actor) -> ModelBackend:
    """Return the endpoint set for a tier in the agent's settings, else the endpoint of learning (R174)."""
    endpoint_id = _model_and_endpoint(agent, tier)[1]
    return backend if endpoint_id is None else learning_backend_at(read_decrypted_endpoint(endpoint_id, system=actor))


def _model_and_endpoint(agent: Agent, tier: Tier) -> tuple[str, int | None]:
    """Return the model and endpoint of a tier from the agent's settings; the short tier uses no model."""
    if tier is Tier.MID:
        return agent.distil_model_mid, agent.distil_endpoint_mid_id
    return (agent.distil_model_long, agent.distil_endpoint_long_id) if tier is Tier.LONG else ("", None)


def _postpone_tier(agent: Agent, due: DueTier, error: BackendError, actor: Actor) -> None:
    wait = retry_delay_seconds(due.failures + 1, error.retry_after_seconds, random())  # noqa: S311  # spreads, hides nothing
    tier_runs.postpone_tier(agent.pk, due, timezone.now() + timedelta(seconds=wait), actor=actor)
    logger.warning("distillation put off", extra={"agent_id": agent.pk, "tier": due.tier.value, "code": error.code})


def tier_settings_of(agent: Agent) -> TierSettings:
    """Return the agent's tier settings (R174)."""
    return TierSettings(
        agent.is_memory_distilled,
        agent.is_short_tier_distilled,
        agent.is_mid_tier_distilled,
        agent.is_long_tier_distilled,
    )


def _is_frozen(agent: Agent, actor: Actor) -> bool:
    with acting_as(actor):
        on = KillSwitch.objects.visible_to(actor).on().of_kinds(KillSwitch.Kind.FREEZE_LEARNING)
        return on.reaching(agent.pk, "").exists()


def _load_input(agent: Agent, tier: Tier, actor: Actor) -> DistillationInput:
    rows = {row.tier: row for row in MemoryTier.objects.visible_to(actor).filter(agent=agent)}
    row = rows.get(tier.value) or MemoryTier(tenant_id=agent.tenant_id, agent=agent, tier=tier.value)
    source = rows.get(SOURCE_TIERS[tier].value) if tier in SOURCE_TIERS else None
    persona = Persona.objects.visible_to(actor).active().filter(agent=agent).first()
    voice = f"{persona.identity}\n\n{persona.style}".strip() if persona else ""
    has_stood = _is_active(rows.get(tier.value)) or _was_stored(agent, tier)
    return DistillationInput(
        tier, row, facts_of_row(row), source.told if source and _is_active(source) else "", voice, int(has_stood)
    )


def _is_active(row: MemoryTier | None) -> bool:
    return row is not None and row.status == MemoryTier.Status.ACTIVE


def _was_stored(agent: Agent, tier: Tier) -> bool:
    return TierRun.objects.filter(agent=agent, tier=tier.value, verdict=TierRun.Verdict.STORED).exists()


def facts_of_row(row: MemoryTier) -> tuple[TierFact, ...]:
    """Return the facts of a stored tier."""
    return tuple(
        TierFact(each["fact_id"], each["text"], tuple(each["source_ids"]), each["is_permanent"]) for each in row.facts
    )


def _distil_tier(agent: Agent, material: DistillationInput, backend: ModelBackend, actor: Actor) -> TierOutcome:
    if material.tier is Tier.SHORT:
        with acting_as(actor):
            zone = TenantSettings.objects.visible_to(actor).values_list("timezone", flat=True).first() or "UTC"
        body = render_short_tier(read_session_log(agent.pk, actor=actor), zone)
        is_new = body != material.row.body
        return TierOutcome(TierRun.Verdict.STORED, body) if is_new else TierOutcome(TierRun.Verdict.NOTHING)
    if not material.source.strip():
        return TierOutcome(TierRun.Verdict.NOTHING)
    reply = backend.complete(_request(agent, material))
    found = parse_rewrite(reply.text)
    if isinstance(found, MalformedRewrite):
        return TierOutcome(TierRun.Verdict.MALFORMED, reasons=(found.reason,), reply=reply)
    return _vet_facts(material, found, reply)


def _vet_facts(material: DistillationInput, found: Sequence[TierFact], reply: ModelReply) -> TierOutcome:
    budget = BUDGET_TOKENS[material.tier]
    kept = vet_rewrite(material.before, found, source_lines_of(material.source), budget_tokens=budget)
    if isinstance(kept, RefusedRewrite):
        return TierOutcome(TierRun.Verdict.REFUSED, reasons=kept.reasons, proposed_facts=tuple(found), reply=reply)
    if kept.facts == material.before:
        return TierOutcome(TierRun.Verdict.NOTHING, reply=reply)
    held = is_review_needed(material.tier, material.stored_runs)
    verdict = TierRun.Verdict.PENDING if held else TierRun.Verdict.STORED
    return TierOutcome(verdict, render_editable_facts(kept.facts), kept.facts, reply=reply)


def _request(agent: Agent, material: DistillationInput) -> ModelRequest:
    budget = BUDGET_TOKENS[material.tier]
    own, endpoint_id = _model_and_endpoint(agent, material.tier)
    message = rewrite_message(
        [(fact.fact_id, fact.text) for fact in material.before if not fact.is_permanent],
        [(line.source_id, line.text) for line in source_lines_of(material.source)],
        voice=material.voice,
        budget_tokens=budget,
    )
    return ModelRequest(
        model=learning_model(agent, own, endpoint_id),
        max_tokens=MAX_TOKENS,
        system=(SystemBlock(DISTILLATION_TEXTS[material.tier.value]),),
        messages=({"role": "user", "content": message},),
        timeout_seconds=CALL_SECONDS,
        effort="low",
        output_schema=json.loads(canonical_json(rewrite_schema)),
    )


def _store_outcome(
    agent: Agent, due: DueTier, material: DistillationInput, outcome: TierOutcome, actor: Actor
) -> TierRun:
    """Store the text, the run and the clock in one transaction."""
    with acting_as(actor):
        if outcome.verdict in {TierRun.Verdict.STORED, TierRun.Verdict.PENDING}:
            row = material.row
            read_at = None if row._state.adding else row.version
            store_tier(
                row,
                actor=actor,
                body=outcome.body,
                facts=[asdict(fact) for fact in outcome.facts],
                is_held=outcome.verdict == TierRun.Verdict.PENDING,
                read_at=read_at,
            )
        tier_runs.release_tier(agent.pk, material.tier, actor=actor)
        run = write_tier_run(agent, due, outcome, len(material.before), actor=actor)
        if material.tier is not Tier.SHORT:  # R175
            enqueue_learning_delivery(WebhookEvent.DISTILLATION, run.pk, tenant_id=actor.tenant_id)
        return run
