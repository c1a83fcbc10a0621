"""Distillation of an agent's memory: load, ask a model where one is needed, check, store; one row tells of it (R168-R176)."""

import json
import logging
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta
from random import random
from typing import Final

from django.utils import timezone

from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting
from apps.governance.errors import Stale
from apps.kill_switches.models import KillSwitch
from apps.learning.distillation import tier_runs
from apps.learning.distillation.models import TierRun
from apps.learning.distillation.rewrite_vetting import (
    Fact,
    Malformed,
    Refused,
    parse_rewrite,
    rewrite_schema,
    vet_rewrite,
)
from apps.learning.distillation.session_log import session_log
from apps.learning.distillation.tier_runs import Due, Outcome, write_run
from apps.learning.distillation.tier_schedule import BUDGET_TOKENS, Switches, Tier, is_held, short_tier
from apps.learning.distillation.tier_text import lines_of, marked
from apps.learning.extraction.pipeline import learning_backend, learning_backend_at, learning_model
from apps.learning.model_spend import Counted, LearningWaits
from apps.learning.retry_delay import MOST_FAILURES, next_look_seconds
from apps.llm.model_backend import Backend, BackendError, Reply, Request, SystemBlock
from apps.memory.models import MemoryTier
from apps.memory.tier_actions import store_tier
from apps.personas.models import Persona
from apps.prompt.instruction_texts import DISTILLS
from apps.prompt.learning_prompts.distillation import rewrite_message
from apps.prompt.rendering.data_fences import canonical_json
from apps.tenants.authentication.actor_resolution import system_actor
from apps.tenants.endpoints.decrypted_endpoint import opened
from apps.tenants.models import Agent, TenantSettings
from apps.webhooks.outbox import tell_of_learning
from apps.webhooks.rules import Event

logger = logging.getLogger(__name__)

MAX_TOKENS: Final = 6_000
CALL_SECONDS: Final = 120.0
# What a tier is made of.
READS: Final = {Tier.MID: Tier.SHORT, Tier.LONG: Tier.MID}


@dataclass(frozen=True, slots=True)
class Material:
    """A tier as it stands, and the text it is made from."""

    tier: Tier
    row: MemoryTier
    before: tuple[Fact, ...]
    source: str
    voice: str
    stored_runs: int


def attempt_distillation(tenant_id: int, agent_id: int) -> None:
    """Distil what is due under the tenant that came with the id."""
    distil_due(agent_id, actor=system_actor(tenant_id, "distiller"), backend=learning_backend())


def distil_due(agent_id: int, *, actor: Actor, backend: Backend) -> tuple[TierRun, ...]:
    """Every tier of an agent that is due, in the order in which one reads the other."""
    with acting(actor):
        agent = Agent.objects.visible_to(actor).filter(pk=agent_id).first()
    if agent is None or not agent.has_learning:
        return ()
    tier_runs.wind(agent, actor=actor)
    runs = (_run_if_due(agent, tier, actor, backend) for tier in Tier)
    return tuple(run for run in runs if run)


def _run_if_due(agent: Agent, tier: Tier, actor: Actor, backend: Backend) -> TierRun | None:
    due = tier_runs.claim(agent.pk, tier, actor=actor)
    if due is None:
        return None
    if (not due.requested_by and not switches_of(agent).is_on(tier)) or _is_frozen(agent, actor):
        with acting(actor):
            tier_runs.settle(agent.pk, tier, actor=actor)
        return None
    with acting(actor):
        material = _material(agent, tier, actor)
    try:
        counted = Counted(_thinks_at(agent, tier, backend, actor), agent.pk, actor)
        outcome = _distilled(agent, material, counted, actor)
    except LearningWaits as error:
        _put_off(agent, due, error, actor)
        return None
    except BackendError as error:
        if due.failures + 1 < MOST_FAILURES and error.is_worth_retrying:
            _put_off(agent, due, error, actor)
            return None
        outcome = Outcome(TierRun.Verdict.FAILED, reasons=(f"The model failed ({error.code}). {error}",))
    try:
        return _stored(agent, due, material, outcome, actor)
    except Stale:
        # A person corrected the tier while the model read it: what they wrote is what the next look starts from.
        tier_runs.put_off(agent.pk, due, timezone.now(), actor=actor)
        return None


def _thinks_at(agent: Agent, tier: Tier, backend: Backend, actor: Actor) -> Backend:
    """Where a tier is distilled: at the endpoint that the agent's page names for it, else where the learning thinks (R174)."""
    endpoint_id = _named_for(agent, tier)[1]
    return backend if endpoint_id is None else learning_backend_at(opened(endpoint_id, system=actor))


def _named_for(agent: Agent, tier: Tier) -> tuple[str, int | None]:
    """The model and the endpoint that the agent's page names for a tier; the short one asks no model."""
    if tier is Tier.MID:
        return agent.distil_model_mid, agent.distil_endpoint_mid_id
    return (agent.distil_model_long, agent.distil_endpoint_long_id) if tier is Tier.LONG else ("", None)


def _put_off(agent: Agent, due: Due, error: BackendError, actor: Actor) -> None:
    wait = next_look_seconds(due.failures + 1, error.retry_after_seconds, random())  # noqa: S311  # spreads, hides nothing
    tier_runs.put_off(agent.pk, due, timezone.now() + timedelta(seconds=wait), actor=actor)
    logger.warning("distillation put off", extra={"agent_id": agent.pk, "tier": due.tier.value, "code": error.code})


def switches_of(agent: Agent) -> Switches:
    """What the agent's page says (R174)."""
    return Switches(
        agent.is_memory_distilled,
        agent.is_short_tier_distilled,
        agent.is_mid_tier_distilled,
        agent.is_long_tier_distilled,
    )


def _is_frozen(agent: Agent, actor: Actor) -> bool:
    with acting(actor):
        on = KillSwitch.objects.visible_to(actor).on().of_kinds(KillSwitch.Kind.FREEZE_LEARNING)
        return on.reaching(agent.pk, "").exists()


def _material(agent: Agent, tier: Tier, actor: Actor) -> Material:
    rows = {row.tier: row for row in MemoryTier.objects.visible_to(actor).filter(agent=agent)}
    row = rows.get(tier.value) or MemoryTier(tenant_id=agent.tenant_id, agent=agent, tier=tier.value)
    source = rows.get(READS[tier].value) if tier in READS else None
    persona = Persona.objects.visible_to(actor).active().filter(agent=agent).first()
    voice = f"{persona.identity}\n\n{persona.style}".strip() if persona else ""
    has_stood = _stands(rows.get(tier.value)) or _was_stored(agent, tier)
    return Material(
        tier, row, facts_of_row(row), source.told if source and _stands(source) else "", voice, int(has_stood)
    )


def _stands(row: MemoryTier | None) -> bool:
    return row is not None and row.status == MemoryTier.Status.ACTIVE


def _was_stored(agent: Agent, tier: Tier) -> bool:
    return TierRun.objects.filter(agent=agent, tier=tier.value, verdict=TierRun.Verdict.STORED).exists()


def facts_of_row(row: MemoryTier) -> tuple[Fact, ...]:
    """The facts of a stored tier."""
    return tuple(
        Fact(each["fact_id"], each["text"], tuple(each["source_ids"]), each["is_permanent"]) for each in row.facts
    )


def _distilled(agent: Agent, material: Material, backend: Backend, actor: Actor) -> Outcome:
    if material.tier is Tier.SHORT:
        with acting(actor):
            zone = TenantSettings.objects.visible_to(actor).values_list("timezone", flat=True).first() or "UTC"
        body = short_tier(session_log(agent.pk, actor=actor), zone)
        is_new = body != material.row.body
        return Outcome(TierRun.Verdict.STORED, body) if is_new else Outcome(TierRun.Verdict.NOTHING)
    if not material.source.strip():
        return Outcome(TierRun.Verdict.NOTHING)
    reply = backend.complete(_request(agent, material))
    found = parse_rewrite(reply.text)
    if isinstance(found, Malformed):
        return Outcome(TierRun.Verdict.MALFORMED, reasons=(found.reason,), reply=reply)
    return _vetted(material, found, reply)


def _vetted(material: Material, found: Sequence[Fact], reply: Reply) -> Outcome:
    budget = BUDGET_TOKENS[material.tier]
    kept = vet_rewrite(material.before, found, lines_of(material.source), budget_tokens=budget)
    if isinstance(kept, Refused):
        return Outcome(TierRun.Verdict.REFUSED, reasons=kept.reasons, proposed_facts=tuple(found), reply=reply)
    if kept.facts == material.before:
        return Outcome(TierRun.Verdict.NOTHING, reply=reply)
    held = is_held(material.tier, material.stored_runs)
    verdict = TierRun.Verdict.PENDING if held else TierRun.Verdict.STORED
    return Outcome(verdict, marked(kept.facts), kept.facts, reply=reply)


def _request(agent: Agent, material: Material) -> Request:
    budget = BUDGET_TOKENS[material.tier]
    own, endpoint_id = _named_for(agent, material.tier)
    message = rewrite_message(
        [(fact.fact_id, fact.text) for fact in material.before if not fact.is_permanent],
        [(line.source_id, line.text) for line in lines_of(material.source)],
        voice=material.voice,
        budget_tokens=budget,
    )
    return Request(
        model=learning_model(agent, own, endpoint_id),
        max_tokens=MAX_TOKENS,
        system=(SystemBlock(DISTILLS[material.tier.value]),),
        messages=({"role": "user", "content": message},),
        timeout_seconds=CALL_SECONDS,
        effort="low",
        output_schema=json.loads(canonical_json(rewrite_schema)),
    )


def _stored(agent: Agent, due: Due, material: Material, outcome: Outcome, actor: Actor) -> TierRun:
    """The text, the run and the clock stand or fall together."""
    with acting(actor):
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
        tier_runs.settle(agent.pk, material.tier, actor=actor)
        run = write_run(agent, due, outcome, len(material.before), actor=actor)
        if material.tier is not Tier.SHORT:  # R175
            tell_of_learning(Event.DISTILLATION, run.pk, tenant_id=actor.tenant_id)
        return run
