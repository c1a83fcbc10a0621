"""The daily reflection: eligibility, masking, one model call without tools, vetting, drafts and lines; one row per day (R119).

Extraction looks at single conversations. Reflection looks for patterns that only several conversations show together.
"""

import json
import logging
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from datetime import date, datetime
from functools import reduce
from operator import or_
from typing import Final
from zoneinfo import ZoneInfo

from django.db import transaction
from django.utils import timezone

from apps.conversations.models import Conversation
from apps.conversations.rules import ConversationLine
from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import GovernanceError, StoppedByKillSwitch
from apps.governance.models import Taint
from apps.kill_switches.models import KillSwitch
from apps.learning.conversation_transcript import transcript
from apps.learning.extraction.draft_validation import VettedDraft, resolve_relative_dates, vet_draft
from apps.learning.extraction.duplicate_skills import called_tools, find_similar_skill, lock_skill_comparison
from apps.learning.extraction.eligibility import LearningRejection, check_eligibility
from apps.learning.extraction.pipeline import learning_backend, learning_model, transcript_lines
from apps.learning.model_spend import LearningBudgetReserved, MeteredBackend
from apps.learning.private_data import collect_known_values, tenant_templates
from apps.learning.quarantined_material import MaterialQuarantined, refuse_quarantined
from apps.learning.reflection.memory_proposals import propose_memory_lines
from apps.learning.reflection.memory_vetting import CONVERSATIONS_READ, LINES_READ, MIN_CONVERSATIONS
from apps.learning.reflection.models import Reflection
from apps.learning.reflection.reflection_day import day_bounds, day_to_reflect_on
from apps.learning.reflection.reflection_runs import (
    DayAlreadySettled,
    DayLease,
    DayOutcome,
    claim_day,
    postpone_day,
    settle_day,
)
from apps.learning.retry_delay import MOST_FAILURES
from apps.learning.transcript_masking import mask_transcript
from apps.llm.model_backend import BackendError, ErrorOwner, ModelBackend, ModelReply, ModelRequest, SystemBlock
from apps.memory.line_proposals import LineProposalResult
from apps.prompt.instruction_texts import REFLECT_ON_DAY
from apps.prompt.learning_prompts.extraction import MalformedExtraction
from apps.prompt.learning_prompts.reflection import (
    ReflectedSkill,
    ReflectionResult,
    day_message,
    parse_reflection,
    reflection_schema,
)
from apps.prompt.rendering.data_fences import canonical_json
from apps.skills.actions import draft_skill
from apps.tenants.authentication.actor_resolution import system_actor
from apps.tenants.models import Agent, TenantSettings
from apps.text_analysis.pii.known_values import KnownValues
from apps.text_analysis.pii.masking import PiiMasker
from apps.text_analysis.pii.tenant_patterns import PiiTemplate

logger = logging.getLogger(__name__)

Verdict = Reflection.Verdict
MAX_TOKENS: Final = 3072
CALL_SECONDS: Final = 90.0


@dataclass(frozen=True, slots=True)
class DayConversation:
    """One conversation of the day: its lines, and the known personal data in them."""

    conversation_id: int
    lines: list[ConversationLine]
    known: KnownValues


@dataclass(frozen=True, slots=True)
class DayInput:
    """The input of a reflection: the conversations of an agent's day."""

    agent: Agent
    resolved: int
    read: tuple[DayConversation, ...]
    templates: tuple[PiiTemplate, ...]

    @property
    def ids(self) -> tuple[int, ...]:
        return tuple(each.conversation_id for each in self.read)

    @property
    def known(self) -> KnownValues:
        return reduce(or_, (each.known for each in self.read), KnownValues())


@dataclass(frozen=True, slots=True)
class SkillDraftResult:
    """The outcome of one vetted draft: a skill, nothing new, or a refusal."""

    said: str
    skill_id: int | None = None
    is_known: bool = False


def reflect_on_latest_day(agent_id: int, *, actor: Actor, backend: ModelBackend, now: datetime) -> Reflection | None:
    """Reflect once on an agent's latest day.

    Returns None if the agent does not reflect, learning is frozen, or another worker holds the lease on the day. Raises
    if the model call fails, and postpones the day.
    """
    with acting_as(actor):
        agent = Agent.objects.visible_to(actor).filter(pk=agent_id, has_learning=True, has_reflection=True).first()
        if agent is None or _is_frozen(agent, actor):
            return None
        zone = ZoneInfo(TenantSettings.objects.visible_to(actor).get().timezone)
    day = day_to_reflect_on(now, zone)
    held = claim_day(agent.pk, day, actor=actor)
    if held is None:
        return None
    with acting_as(actor):
        gathered = _load_day(agent, day, zone, actor)
    return _settle_day(held, gathered, actor, backend)


def attempt_reflection(tenant_id: int, agent_id: int) -> None:
    """Reflect in the tenant named by the task; a failed call is retried later."""
    try:
        reflect_on_latest_day(
            agent_id, actor=system_actor(tenant_id, "reflector"), backend=learning_backend(), now=timezone.now()
        )
    except BackendError as error:
        logger.warning("reflection postponed", extra={"agent_id": agent_id, "code": error.code})


def _is_frozen(agent: Agent, actor: Actor) -> bool:
    on = KillSwitch.objects.visible_to(actor).on().of_kinds(KillSwitch.Kind.FREEZE_LEARNING)
    return on.reaching(agent.pk, "").exists()


def _load_day(agent: Agent, day: date, zone: ZoneInfo, actor: Actor) -> DayInput:
    begins, ends = day_bounds(day, zone)
    rows = Conversation.objects.visible_to(actor).filter(
        agent=agent,
        status=Conversation.Status.RESOLVED,
        origin=Conversation.Origin.LIVE,
        off_the_record=False,
        quarantined_at=None,
        member_user_id=None,
        resolved_at__gte=begins,
        resolved_at__lt=ends,
    )
    latest = rows.order_by("-resolved_at", "-pk")[:CONVERSATIONS_READ]
    return DayInput(agent, rows.count(), tuple(_eligible_conversations(latest, actor)), tenant_templates(actor))


def _eligible_conversations(rows: Iterable[Conversation], actor: Actor) -> Iterator[DayConversation]:
    """Yield the conversations that are eligible for extraction, earliest first."""
    for row in reversed(list(rows)):
        lines = transcript(row)
        if not isinstance(check_eligibility(lines, row.outcome, off_the_record=row.off_the_record), LearningRejection):
            yield DayConversation(row.pk, lines[-LINES_READ:], collect_known_values(row, lines, actor))


def _settle_day(held: DayLease, day: DayInput, actor: Actor, backend: ModelBackend) -> Reflection | None:
    try:
        found = _decide(day, MeteredBackend(backend, day.agent.pk, actor))
    except LearningBudgetReserved as error:
        postpone_day(held, error, actor=actor)
        raise
    except BackendError as error:
        if error.who_acts is not ErrorOwner.DEVELOPER and held.failures + 1 < MOST_FAILURES:
            postpone_day(held, error, actor=actor)
            raise
        found = DayOutcome(Verdict.FAILED, f"The model failed too often, last with {error.code}. {error}", day.ids)
    try:
        if isinstance(found, DayOutcome):
            return settle_day(held, found, actor=actor)
        return _store_drafts(held, day, *found, actor=actor)
    except DayAlreadySettled:
        return None
    except (StoppedByKillSwitch, MaterialQuarantined):
        # A person stopped it during the model call. The day is processed once learning resumes, or without the conversation.
        postpone_day(held, None, actor=actor)
        return None
    except GovernanceError as refusal:
        reply = None if isinstance(found, DayOutcome) else found[1]
        return settle_day(held, DayOutcome(Verdict.REFUSED, str(refusal), day.ids, reply), actor=actor)


def _decide(day: DayInput, backend: ModelBackend) -> DayOutcome | tuple[ReflectionResult, ModelReply]:
    if len(day.read) < MIN_CONVERSATIONS:
        reason = f"{day.resolved} conversations ended, {len(day.read)} of them are eligible; two are needed."
        return DayOutcome(Verdict.TOO_FEW, reason, day.ids)
    reply = backend.complete(_request(day))
    found = parse_reflection(reply.text)
    if isinstance(found, MalformedExtraction):
        return DayOutcome(Verdict.MALFORMED, found.reason, day.ids, reply)
    if found.is_empty:
        return DayOutcome(
            Verdict.NOTHING, f"The model saw no pattern in {len(day.read)} conversations.", day.ids, reply
        )
    return found, reply


def _request(day: DayInput) -> ModelRequest:
    conversations = [
        transcript_lines(mask_transcript(each.lines, PiiMasker.against(each.known, templates=day.templates)))
        for each in day.read
    ]
    return ModelRequest(
        model=learning_model(day.agent),
        max_tokens=MAX_TOKENS,
        system=(SystemBlock(REFLECT_ON_DAY),),
        messages=({"role": "user", "content": day_message(conversations)},),
        timeout_seconds=CALL_SECONDS,
        effort="low",
        output_schema=json.loads(canonical_json(reflection_schema)),
    )


def _store_drafts(
    held: DayLease, day: DayInput, found: ReflectionResult, reply: ModelReply, *, actor: Actor
) -> Reflection:
    """Store drafts, lines and the verdict in one transaction; a refused draft or line does not affect the others."""
    with transaction.atomic(), acting_as(actor):
        refuse_quarantined(day.ids, actor=actor)
        lock_skill_comparison(day.agent.pk)
        placed = [_vet_and_draft(each, day, actor) for each in found.skills]
        brought = _propose_memories(found, day, actor)
        made = tuple(each.skill_id for each in placed if each.skill_id)
        is_known = brought.is_known or any(each.is_known for each in placed)
        proposals = (brought.proposal_id,) if brought.proposal_id else ()
        verdict = Verdict.DRAFTED if made or proposals else Verdict.KNOWN if is_known else Verdict.REFUSED
        reasons = " ".join([*(each.said for each in placed), *brought.said])
        return settle_day(held, DayOutcome(verdict, reasons, day.ids, reply, made, proposals), actor=actor)


def _vet_and_draft(found: ReflectedSkill, day: DayInput, actor: Actor) -> SkillDraftResult:
    vetted, reason = _vet_skill(found, day)
    if vetted is None:
        return SkillDraftResult(reason)
    # Conversations of this day may have begun on another day, so relative dates cannot be resolved.
    _, of_days = resolve_relative_dates(vetted, None)
    placed = _draft_unless_known(vetted, found, day, actor)
    return replace(placed, said=f"{placed.said} {of_days}".strip())


def _propose_memories(found: ReflectionResult, day: DayInput, actor: Actor) -> LineProposalResult:
    """Propose memory lines about the business for review."""
    if not found.memories:
        return LineProposalResult(None, ())
    firewall = PiiMasker.against(day.known, templates=day.templates)
    try:
        with transaction.atomic():
            return propose_memory_lines(found.memories, day.agent.pk, day.ids, firewall, actor=actor)
    except StoppedByKillSwitch:
        raise
    except GovernanceError as refusal:
        # The usual cause: a person has just approved the pending lines, so no more can join them.
        return LineProposalResult(None, (f"The proposed memory lines were refused: {refusal}",))


def _vet_skill(found: ReflectedSkill, day: DayInput) -> tuple[VettedDraft | None, str]:
    cited = [number for number in found.conversations if number <= len(day.read)]
    if len(cited) < MIN_CONVERSATIONS:
        return None, f"{found.skill.name[:64]} names {len(cited)} conversations that show it; two are needed."
    vetted = vet_draft(
        found.skill.name,
        found.skill.title,
        found.skill.description,
        found.skill.body,
        known=day.known,
        templates=day.templates,
    )
    return (None, vetted.reason) if isinstance(vetted, LearningRejection) else (vetted, "")


def _draft_unless_known(draft: VettedDraft, found: ReflectedSkill, day: DayInput, actor: Actor) -> SkillDraftResult:
    cited = [day.read[number - 1] for number in found.conversations if number <= len(day.read)]
    called = frozenset[str]().union(*(called_tools(each.lines) for each in cited))
    alike = find_similar_skill(draft, called, day.agent.pk, actor=actor)
    if alike and alike[1].is_sure:
        return SkillDraftResult(f"The agent has {alike[0].name}. {alike[1].reason}", is_known=True)
    evidence = {"conversation_ids": [each.conversation_id for each in cited]}
    try:
        with transaction.atomic():
            skill = draft_skill(
                day.agent.pk, actor=actor, values=asdict(draft), evidence=evidence, taint=Taint.CUSTOMER
            )
    except StoppedByKillSwitch:
        raise
    except GovernanceError as refusal:
        # The usual cause: a retired skill still has the name.
        return SkillDraftResult(f"{draft.name} was refused: {refusal}")
    perhaps = f" Perhaps {alike[0].name} says the same. {alike[1].reason}" if alike else ""
    return SkillDraftResult(f"Drafted {draft.name} from {len(cited)} conversations.{perhaps}", skill.pk)
