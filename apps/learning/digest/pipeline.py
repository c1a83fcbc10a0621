"""The digest pipeline: eligible lessons, one model call without tools, vetting, a version or a reason for none (R153-R158)."""

import json
import logging
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Final

from django.db import connection
from django.utils import timezone

from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import StoppedByKillSwitch
from apps.kill_switches.models import KillSwitch
from apps.learning.digest.digest_answer import (
    AcceptedDigest,
    MalformedDigest,
    RefusedDigest,
    digest_schema,
    parse_digest,
    vet_digest,
)
from apps.learning.digest.digest_runs import claim_digest, end_digest, postpone_digest, release_digest, write_digest_run
from apps.learning.digest.models import DigestClaim, DigestRun
from apps.learning.extraction.pipeline import CALL_SECONDS, learning_backend, learning_model
from apps.learning.guardrails.agent_guardrails import read_guardrails
from apps.learning.guardrails.conflicts_with_guardrails import Guardrails
from apps.learning.lessons.actions import apply_version, propose_version
from apps.learning.lessons.lesson_journal import lock_lessons, mark_digested
from apps.learning.lessons.models import LearningVersion
from apps.learning.lessons.models import Lesson as LessonRow
from apps.learning.lessons.rules import (
    ApplyMode,
    DraftCorrection,
    LessonSource,
    LessonValue,
    corrections_to_digest,
    lessons_to_digest,
    parse_bullets,
)
from apps.learning.lessons.version_copies import versions_of_agents, withdrawn_bullets_in
from apps.learning.model_spend import MeteredBackend
from apps.learning.quarantined_material import quarantined_lessons
from apps.learning.retry_delay import MOST_FAILURES
from apps.llm.model_backend import BackendError, ErrorOwner, ModelBackend, ModelReply, ModelRequest, SystemBlock
from apps.prompt.instruction_texts import DIGEST_LESSONS
from apps.prompt.learning_prompts.lesson_digest import DigestCorrection, DigestLesson, digest_message
from apps.prompt.rendering.data_fences import canonical_json
from apps.tenants.authentication.actor_resolution import system_actor
from apps.tenants.models import Agent, TenantSettings
from apps.webhooks.outbox import enqueue_learning_delivery
from apps.webhooks.rules import WebhookEvent

logger = logging.getLogger(__name__)

Verdict = DigestRun.Verdict
MAX_TOKENS = 4096
# The runtime decides which version open conversations read. This statement only protects those versions from pruning.
_PINNED_VERSIONS_SQL: Final = """
SELECT DISTINCT turn.learning_version_id FROM runtime_turn AS turn JOIN conversations_conversation AS thread
    ON thread.tenant_id = turn.tenant_id AND thread.id = turn.conversation_id
 WHERE turn.tenant_id = app_tenant() AND thread.agent_id = %(agent)s AND thread.status = 'open'
   AND turn.learning_version_id IS NOT NULL
"""


@dataclass(frozen=True, slots=True)
class DigestInput:
    """The input of one digest, read when the lease was taken."""

    agent: Agent
    lessons: tuple[LessonValue, ...]
    corrections: tuple[DraftCorrection, ...]
    active: LearningVersion | None
    held: Guardrails
    failures: int = 0

    @property
    def active_body(self) -> str:
        return self.active.body if self.active else ""

    @property
    def lesson_ids(self) -> list[int]:
        return [each.lesson_id for each in self.lessons]


@dataclass(frozen=True, slots=True)
class DigestOutcome:
    """The outcome of a run before it is written."""

    verdict: DigestRun.Verdict
    reasons: tuple[str, ...] = ()
    reply: ModelReply | None = None
    unknown_lesson_ids: tuple[int, ...] = ()
    version: LearningVersion | None = field(default=None)


def digest_agent_lessons(agent_id: int, *, actor: Actor, backend: ModelBackend) -> DigestRun | None:
    """Digest an agent's lessons once. No transaction is open during the model call.

    Returns None if there is nothing new, the agent does not learn, a version awaits review, learning is frozen, or another worker
    holds the lease. Raises if the model call fails, and postpones the digest.
    """
    material = _claim_input(agent_id, actor)
    if material is None:
        return None
    try:
        reply = MeteredBackend(backend, agent_id, actor).complete(_request(material))
    except BackendError as error:
        failures = material.failures + 1
        outcome = _final_failure(error, failures)
        if outcome is None:
            postpone_digest(agent_id, failures, error, actor=actor)
            raise
        return _end_run(material, outcome, actor)
    return _vet_and_conclude(material, reply, actor)


def attempt_digest(tenant_id: int, agent_id: int) -> None:
    """Digest in the tenant named by the task, never in the worker's own; a failed call is retried later."""
    try:
        digest_agent_lessons(agent_id, actor=system_actor(tenant_id, "digest"), backend=learning_backend())
    except BackendError as error:
        logger.warning("digest postponed", extra={"agent_id": agent_id, "code": error.code})


def _claim_input(agent_id: int, actor: Actor) -> DigestInput | None:
    with acting_as(actor):
        lock_lessons(agent_id)
        agent = Agent.objects.visible_to(actor).filter(pk=agent_id, has_learning=True).first()
        if agent is None or _is_digest_blocked(agent_id, actor):
            return None
        rows = list(
            LessonRow.objects.filter(agent_id=agent_id, learning_version=None).exclude(pk__in=quarantined_lessons())
        )
        known = {row.pk: row.last_case_recorded_at for row in rows}
        lessons = lessons_to_digest([row.value for row in rows], timezone.now())
        last_digest_at = DigestClaim.objects.filter(agent_id=agent_id).values_list("last_digest_at", flat=True).first()
        if not any(last_digest_at is None or known[each.lesson_id] > last_digest_at for each in lessons):
            return None
        failures = claim_digest(agent_id, actor=actor)
        if failures is None:
            return None
        active = LearningVersion.objects.visible_to(actor).of_agent(agent_id).active().first()
        return DigestInput(agent, lessons, _corrections(agent_id), active, read_guardrails(agent_id, actor), failures)


def _is_digest_blocked(agent_id: int, actor: Actor) -> bool:
    """Return whether a digest must wait because a version awaits review or learning is frozen."""
    if LearningVersion.objects.visible_to(actor).of_agent(agent_id).pending().exists():
        return True
    frozen = KillSwitch.objects.visible_to(actor).on().of_kinds(KillSwitch.Kind.FREEZE_LEARNING)
    return frozen.reaching(agent_id, "").exists()


def _corrections(agent_id: int) -> tuple[DraftCorrection, ...]:
    """Return corrections from cases of edited drafts; the cases are already masked."""
    rows = LessonRow.objects.filter(agent_id=agent_id, source=LessonSource.EDITED_DRAFT.value)
    return corrections_to_digest(
        DraftCorrection(row.pk, row.problem, row.correction, row.last_seen_at)
        for row in rows.order_by("-last_seen_at")[:50]
    )


def _request(material: DigestInput) -> ModelRequest:
    shown = digest_message(
        parse_bullets(material.active_body),
        [
            DigestLesson(each.lesson_id, each.situation, each.problem, each.correction, each.support_count)
            for each in material.lessons
        ],
        [DigestCorrection(each.draft, each.sent) for each in material.corrections],
    )
    return ModelRequest(
        model=learning_model(material.agent),
        max_tokens=MAX_TOKENS,
        system=(SystemBlock(DIGEST_LESSONS),),
        messages=({"role": "user", "content": shown},),
        timeout_seconds=CALL_SECONDS,
        effort="low",
        output_schema=json.loads(canonical_json(digest_schema)),
    )


def _final_failure(error: BackendError, failures: int) -> DigestOutcome | None:
    """Return the outcome if there is no further retry: the request itself is wrong, or the model failed too often."""
    if error.who_acts is ErrorOwner.DEVELOPER:
        return DigestOutcome(Verdict.FAILED, (f"The model refused the request ({error.code}). {error}",))
    if error.is_worth_retrying and failures >= MOST_FAILURES:
        return DigestOutcome(Verdict.FAILED, (f"The model failed {failures} times, last with {error.code}. {error}",))
    return None


def _vet_and_conclude(material: DigestInput, reply: ModelReply, actor: Actor) -> DigestRun | None:
    found = parse_digest(reply.text)
    if isinstance(found, MalformedDigest):
        return _end_run(material, DigestOutcome(Verdict.MALFORMED, (found.reason,), reply), actor)
    vetted = vet_digest(found, active_body=material.active_body, given_ids=material.lesson_ids, held=material.held)
    if isinstance(vetted, RefusedDigest):
        made_up = tuple(sorted(set(found.folded_lesson_ids) - set(material.lesson_ids)))
        return _end_run(material, DigestOutcome(Verdict.REFUSED, vetted.reasons, reply, made_up), actor)
    try:
        return _store_version(material, vetted, reply, actor)
    except StoppedByKillSwitch:
        # Learning was frozen during the model call. The lessons are digested once learning resumes.
        release_digest(material.agent.pk, material.failures, actor=actor)
        return None


def _store_version(material: DigestInput, vetted: AcceptedDigest, reply: ModelReply, actor: Actor) -> DigestRun | None:
    """Store the version, its lessons and the run in one transaction."""
    agent_id = material.agent.pk
    with acting_as(actor):
        lock_lessons(agent_id)
        if _is_outdated(material, actor):
            release_digest(agent_id, material.failures, actor=actor)
            return None
        version = propose_version(
            agent_id,
            actor=actor,
            body=vetted.body,
            change_summary=vetted.change_summary,
            lesson_ids=vetted.lesson_ids,
            pinned_ids=_pinned_version_ids(agent_id),
        )
        mark_digested(version, actor=actor)
        is_applied = _needs_no_person(version, actor)
        if is_applied:
            apply_version(version, actor=actor)
        enqueue_learning_delivery(WebhookEvent.LEARNING_VERSION, version.pk, tenant_id=actor.tenant_id)
        verdict = Verdict.APPLIED if is_applied else Verdict.PROPOSED
        return _end_run(material, DigestOutcome(verdict, (), reply, vetted.unknown_lesson_ids, version), actor)


def _needs_no_person(version: LearningVersion, actor: Actor) -> bool:
    """Return whether the tenant's settings apply the version, and it repeats nothing that a person has withdrawn."""
    if TenantSettings.objects.visible_to(actor).get().learning_apply_mode != ApplyMode.AUTO:
        return False
    return not withdrawn_bullets_in(version, versions_of_agents([version.agent_id])[version.agent_id])


def _is_outdated(material: DigestInput, actor: Actor) -> bool:
    """Return whether a person activated or retired a version since the input was read, so the answer edits an older version."""
    active = LearningVersion.objects.visible_to(actor).of_agent(material.agent.pk).active().first()
    return active != material.active or _is_digest_blocked(material.agent.pk, actor)


def _pinned_version_ids(agent_id: int) -> Collection[int]:
    with connection.cursor() as cursor:
        cursor.execute(_PINNED_VERSIONS_SQL, {"agent": agent_id})
        return [int(version_id) for (version_id,) in cursor.fetchall()]


def _end_run(material: DigestInput, outcome: DigestOutcome, actor: Actor) -> DigestRun:
    with acting_as(actor):
        end_digest(material.agent.pk, actor=actor)
        return write_digest_run(
            material.agent.pk,
            actor=actor,
            verdict=outcome.verdict,
            reasons=outcome.reasons,
            lesson_ids=material.lesson_ids,
            unknown_lesson_ids=outcome.unknown_lesson_ids,
            version=outcome.version,
            reply=outcome.reply,
        )
