"""The digest: lessons past the gate, a fresh model call without tools, vetting, and a version or why there is none (R153-R158)."""

import json
import logging
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Final

from django.db import connection
from django.utils import timezone

from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting
from apps.governance.errors import Frozen
from apps.kill_switches.models import KillSwitch
from apps.learning.digest.digest_answer import Accepted, Malformed, Refused, digest_schema, parse_digest, vet
from apps.learning.digest.digest_runs import claim_digest, end_digest, let_go_digest, put_off_digest, write_run
from apps.learning.digest.models import DigestClaim, DigestRun
from apps.learning.extraction.pipeline import CALL_SECONDS, learning_backend, learning_model
from apps.learning.guardrails.agent_guardrails import taken_over_by
from apps.learning.guardrails.conflicts_with_guardrails import Held
from apps.learning.lessons.actions import apply_version, propose_version
from apps.learning.lessons.lesson_journal import mark_digested, one_at_a_time
from apps.learning.lessons.models import LearningVersion
from apps.learning.lessons.models import Lesson as LessonRow
from apps.learning.lessons.rules import (
    ApplyMode,
    Correction,
    Lesson,
    LessonSource,
    bullets_of,
    corrections_to_digest,
    lessons_to_digest,
)
from apps.learning.model_spend import Counted
from apps.learning.retry_delay import MOST_FAILURES
from apps.llm.model_backend import Backend, BackendError, Reply, Request, SystemBlock, WhoActs
from apps.prompt.instruction_texts import DIGEST_LESSONS
from apps.prompt.learning_prompts.lesson_digest import CorrectionLine, LessonLine, digest_message
from apps.prompt.rendering.data_fences import canonical_json
from apps.tenants.authentication.actor_resolution import system_actor
from apps.tenants.models import Agent, TenantSettings
from apps.webhooks.outbox import tell_of_learning
from apps.webhooks.rules import Event

logger = logging.getLogger(__name__)

Verdict = DigestRun.Verdict
MAX_TOKENS = 4096
# What open conversations read is the business of whoever takes their turns; this only keeps it from being pruned.
_PINNED: Final = """
SELECT DISTINCT turn.learning_version_id FROM runtime_turn AS turn JOIN conversations_conversation AS thread
    ON thread.tenant_id = turn.tenant_id AND thread.id = turn.conversation_id
 WHERE turn.tenant_id = app_tenant() AND thread.agent_id = %(agent)s AND thread.status = 'open'
   AND turn.learning_version_id IS NOT NULL
"""


@dataclass(frozen=True, slots=True)
class Material:
    """What one digest reads, as it stood when the agent's lessons were taken."""

    agent: Agent
    lessons: tuple[Lesson, ...]
    corrections: tuple[Correction, ...]
    active: LearningVersion | None
    held: Held
    failures: int = 0

    @property
    def active_body(self) -> str:
        return self.active.body if self.active else ""

    @property
    def lesson_ids(self) -> list[int]:
        return [each.lesson_id for each in self.lessons]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run is about to be written as."""

    verdict: DigestRun.Verdict
    reasons: tuple[str, ...] = ()
    reply: Reply | None = None
    unknown_lesson_ids: tuple[int, ...] = ()
    version: LearningVersion | None = field(default=None)


def digest(agent_id: int, *, actor: Actor, backend: Backend) -> DigestRun | None:
    """Digest an agent's lessons once, with no transaction open while the model reads.

    None: there is nothing new, the agent does not learn, a version waits for a person, learning is frozen, or somebody else is at
    it. A failing model raises, and the digest is put off.
    """
    material = _taken(agent_id, actor)
    if material is None:
        return None
    try:
        reply = Counted(backend, agent_id, actor).complete(_request(material))
    except BackendError as error:
        failures = material.failures + 1
        outcome = _given_up(error, failures)
        if outcome is None:
            put_off_digest(agent_id, failures, error, actor=actor)
            raise
        return _ended(material, outcome, actor)
    return _concluded(material, reply, actor)


def attempt_digest(tenant_id: int, agent_id: int) -> None:
    """Digest under the tenant that came with the id, never the worker's own; a failing model is asked again later."""
    try:
        digest(agent_id, actor=system_actor(tenant_id, "digest"), backend=learning_backend())
    except BackendError as error:
        logger.warning("digest postponed", extra={"agent_id": agent_id, "code": error.code})


def _taken(agent_id: int, actor: Actor) -> Material | None:
    with acting(actor):
        one_at_a_time(agent_id)
        agent = Agent.objects.visible_to(actor).filter(pk=agent_id, has_learning=True).first()
        if agent is None or _is_held(agent_id, actor):
            return None
        rows = list(LessonRow.objects.filter(agent_id=agent_id, learning_version=None))
        known = {row.pk: row.last_case_recorded_at for row in rows}
        lessons = lessons_to_digest([row.value for row in rows], timezone.now())
        last_digest_at = DigestClaim.objects.filter(agent_id=agent_id).values_list("last_digest_at", flat=True).first()
        if not any(last_digest_at is None or known[each.lesson_id] > last_digest_at for each in lessons):
            return None
        failures = claim_digest(agent_id, actor=actor)
        if failures is None:
            return None
        active = LearningVersion.objects.visible_to(actor).of_agent(agent_id).active().first()
        return Material(agent, lessons, _corrections(agent_id), active, taken_over_by(agent_id, actor), failures)


def _is_held(agent_id: int, actor: Actor) -> bool:
    """One version at a time waits for a person; while learning is frozen nothing is digested."""
    if LearningVersion.objects.visible_to(actor).of_agent(agent_id).pending().exists():
        return True
    frozen = KillSwitch.objects.visible_to(actor).on().of_kinds(KillSwitch.Kind.FREEZE_LEARNING)
    return frozen.reaching(agent_id, "").exists()


def _corrections(agent_id: int) -> tuple[Correction, ...]:
    """As the lessons of edited drafts keep them: masked."""
    rows = LessonRow.objects.filter(agent_id=agent_id, source=LessonSource.EDITED_DRAFT.value)
    return corrections_to_digest(
        Correction(row.pk, row.problem, row.correction, row.last_seen_at) for row in rows.order_by("-last_seen_at")[:50]
    )


def _request(material: Material) -> Request:
    shown = digest_message(
        bullets_of(material.active_body),
        [
            LessonLine(each.lesson_id, each.situation, each.problem, each.correction, each.support_count)
            for each in material.lessons
        ],
        [CorrectionLine(each.draft, each.sent) for each in material.corrections],
    )
    return Request(
        model=learning_model(material.agent),
        max_tokens=MAX_TOKENS,
        system=(SystemBlock(DIGEST_LESSONS),),
        messages=({"role": "user", "content": shown},),
        timeout_seconds=CALL_SECONDS,
        effort="low",
        output_schema=json.loads(canonical_json(digest_schema)),
    )


def _given_up(error: BackendError, failures: int) -> Outcome | None:
    """What ends the trying: a request that is wrong in itself, or a model that failed too often."""
    if error.who_acts is WhoActs.DEVELOPER:
        return Outcome(Verdict.FAILED, (f"The model refused the request ({error.code}). {error}",))
    if error.is_worth_retrying and failures >= MOST_FAILURES:
        return Outcome(Verdict.FAILED, (f"The model failed {failures} times, last with {error.code}. {error}",))
    return None


def _concluded(material: Material, reply: Reply, actor: Actor) -> DigestRun | None:
    found = parse_digest(reply.text)
    if isinstance(found, Malformed):
        return _ended(material, Outcome(Verdict.MALFORMED, (found.reason,), reply), actor)
    vetted = vet(found, active_body=material.active_body, given_ids=material.lesson_ids, held=material.held)
    if isinstance(vetted, Refused):
        made_up = tuple(sorted(set(found.folded_lesson_ids) - set(material.lesson_ids)))
        return _ended(material, Outcome(Verdict.REFUSED, vetted.reasons, reply, made_up), actor)
    try:
        return _versioned(material, vetted, reply, actor)
    except Frozen:
        # Thrown while the model read; the lessons keep their turn for when learning goes on.
        let_go_digest(material.agent.pk, material.failures, actor=actor)
        return None


def _versioned(material: Material, vetted: Accepted, reply: Reply, actor: Actor) -> DigestRun | None:
    """Version, lessons and run stand or fall together."""
    agent_id = material.agent.pk
    with acting(actor):
        one_at_a_time(agent_id)
        if _is_overtaken(material, actor):
            let_go_digest(agent_id, material.failures, actor=actor)
            return None
        version = propose_version(
            agent_id,
            actor=actor,
            body=vetted.body,
            change_summary=vetted.change_summary,
            lesson_ids=vetted.lesson_ids,
            pinned_ids=_pinned(agent_id),
        )
        mark_digested(version, actor=actor)
        mode = TenantSettings.objects.visible_to(actor).get().learning_apply_mode
        if mode == ApplyMode.AUTO:
            apply_version(version, actor=actor)
        tell_of_learning(Event.LEARNING_VERSION, version.pk, tenant_id=actor.tenant_id)
        verdict = Verdict.APPLIED if mode == ApplyMode.AUTO else Verdict.PROPOSED
        return _ended(material, Outcome(verdict, (), reply, vetted.unknown_lesson_ids, version), actor)


def _is_overtaken(material: Material, actor: Actor) -> bool:
    """Whether people decided on another version meanwhile: what the model wrote was made from an older one."""
    active = LearningVersion.objects.visible_to(actor).of_agent(material.agent.pk).active().first()
    return active != material.active or _is_held(material.agent.pk, actor)


def _pinned(agent_id: int) -> Collection[int]:
    with connection.cursor() as cursor:
        cursor.execute(_PINNED, {"agent": agent_id})
        return [int(version_id) for (version_id,) in cursor.fetchall()]


def _ended(material: Material, outcome: Outcome, actor: Actor) -> DigestRun:
    with acting(actor):
        end_digest(material.agent.pk, actor=actor)
        return write_run(
            material.agent.pk,
            actor=actor,
            verdict=outcome.verdict,
            reasons=outcome.reasons,
            lesson_ids=material.lesson_ids,
            unknown_lesson_ids=outcome.unknown_lesson_ids,
            version=outcome.version,
            reply=outcome.reply,
        )
