"""The extraction pipeline: eligibility, one model call without tools, vetting, at most one draft, and a verdict (R110-R117)."""

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date

from django.conf import settings
from django.db import IntegrityError
from django.utils.module_loading import import_string

from apps.conversations.models import Conversation
from apps.conversations.rules import ConversationLine
from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import Conflict, GovernanceError, StoppedByKillSwitch
from apps.governance.models import Taint
from apps.kill_switches.models import KillSwitch
from apps.learning.conversation_transcript import transcript
from apps.learning.extraction.draft_validation import VettedDraft, count_masked, resolve_relative_dates, vet_draft
from apps.learning.extraction.duplicate_skills import called_tools, find_similar_skill, lock_skill_comparison
from apps.learning.extraction.eligibility import LearningRejection, check_eligibility, drop_recalled_calls
from apps.learning.extraction.extraction_runs import (
    VerdictEntry,
    claim_extraction,
    postpone_extraction,
    read_verdict,
    release_extraction,
    write_or_read_verdict,
    write_verdict,
)
from apps.learning.extraction.models import Extraction
from apps.learning.model_spend import MeteredBackend
from apps.learning.private_data import collect_known_values, single_day_of, tenant_templates
from apps.learning.quarantined_material import MaterialQuarantined, refuse_quarantined
from apps.learning.retry_delay import MOST_FAILURES
from apps.llm.model_backend import BackendError, ErrorOwner, ModelBackend, ModelReply, ModelRequest, SystemBlock
from apps.prompt.instruction_texts import EXTRACT_SKILL
from apps.prompt.learning_prompts.extraction import (
    ExtractedSkill,
    MalformedExtraction,
    TranscriptLine,
    extraction_schema,
    parse_extraction,
    transcript_message,
)
from apps.prompt.rendering.data_fences import canonical_json
from apps.skills.actions import draft_skill
from apps.skills.models import Skill
from apps.tenants.authentication.actor_resolution import system_actor
from apps.tenants.endpoints.decrypted_endpoint import OpenedEndpoint
from apps.tenants.models import Agent
from apps.text_analysis.pii.known_values import KnownValues
from apps.text_analysis.pii.masking import PiiMasker
from apps.text_analysis.pii.tenant_patterns import PiiTemplate
from apps.text_analysis.procedure_similarity import tools_in

logger = logging.getLogger(__name__)

Verdict = Extraction.Verdict
MAX_TOKENS = 1024
TRANSCRIPT_LINES = 300
CALL_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class PrivateData:
    """The personal data to mask: values known from the conversation, and the tenant's number templates; and the day."""

    known: KnownValues
    templates: tuple[PiiTemplate, ...]
    day: date | None


@dataclass(frozen=True, slots=True)
class ExtractedDraft:
    """A vetted draft, and the model's answer that contained it."""

    draft: VettedDraft
    reply: ModelReply
    called: frozenset[str]
    masked_counts: Mapping[str, int]
    of_days: str


def learning_backend() -> ModelBackend:
    """Return the model backend at the endpoint set in the environment."""
    # Imported lazily: the web process and most commands load this module, and importing the vendor's SDK takes 1.5 seconds.
    backend: ModelBackend = import_string("apps.llm.anthropic.sync_client.backend_at")(
        settings.ANTHROPIC_API_KEY, settings.ANTHROPIC_BASE_URL
    )
    return backend


def learning_backend_at(place: OpenedEndpoint) -> ModelBackend:
    """Return the model backend at a tenant's own endpoint, for distilling a memory tier."""
    backend: ModelBackend = import_string("apps.llm.anthropic.sync_client.blocking_guarded_backend_at")(
        place.api_key, place.base_url, allowed=settings.REACHABLE_NETWORKS
    )
    return backend


def learning_model(agent: Agent, own: str = "", endpoint_id: int | None = None) -> str:
    """Return the model that learns for an agent: the one set for learning, or the agent's own unless at another endpoint."""
    of_turns = agent.model if agent.endpoint_id == endpoint_id else ""
    return own or of_turns or settings.DEFAULT_MODEL


def extract_conversation(
    conversation_id: int, *, actor: Actor, backend: ModelBackend, at_once: bool = False
) -> Extraction | None:
    """Process a resolved conversation once (R112).

    Returns None if the conversation is gone, unresolved or in quarantine, learning is frozen, another worker has the lease, or the
    next attempt is not due; `at_once` (a person's command) ignores the due time. Raises if the model call fails, and postpones the
    conversation.
    """
    with acting_as(actor):
        conversation = (
            Conversation.objects.visible_to(actor)
            .filter(pk=conversation_id, status=Conversation.Status.RESOLVED)
            .select_related("agent")
            .first()
        )
        if conversation is None:
            logger.info("nothing to extract from", extra={"conversation_id": conversation_id})
            return None
        if known := Extraction.objects.filter(conversation=conversation).first():
            return known
        if conversation.is_quarantined or _is_frozen(conversation, actor):
            return None
    failures = claim_extraction(conversation, actor=actor, at_once=at_once)
    counted = MeteredBackend(backend, conversation.agent_id, actor)
    return None if failures is None else _extract_claimed(conversation, failures, actor, counted)


def _extract_claimed(
    conversation: Conversation, failures: int, actor: Actor, backend: ModelBackend
) -> Extraction | None:
    with acting_as(actor):
        # The previous lease holder may have written its verdict between the check above and this claim.
        if known := Extraction.objects.filter(conversation=conversation).first():
            return known
        lines = transcript(conversation)
        known_here = collect_known_values(conversation, lines, actor)
        private = PrivateData(known_here, tenant_templates(actor), single_day_of(conversation, actor))
    decided: VerdictEntry | ExtractedDraft | None
    try:
        decided = _decide(conversation, lines, private, backend)
    except BackendError as error:
        decided = _final_failure(error, failures + 1)
        if decided is None:
            postpone_extraction(conversation, failures + 1, error, actor=actor)
            raise
    if isinstance(decided, VerdictEntry):
        return write_or_read_verdict(conversation, decided, actor=actor)
    return _store_draft(conversation, decided, failures, actor)


def _final_failure(error: BackendError, failures: int) -> VerdictEntry | None:
    """Return the verdict if there is no further retry: the request itself is wrong, or the model failed too often."""
    if error.who_acts is ErrorOwner.DEVELOPER:
        return VerdictEntry(Verdict.FAILED, f"The model refused the request ({error.code}). {error}")
    if error.is_worth_retrying and failures >= MOST_FAILURES:
        return VerdictEntry(Verdict.FAILED, f"The model failed {failures} times, last with {error.code}. {error}")
    return None


def _is_frozen(conversation: Conversation, actor: Actor) -> bool:
    """Return whether learning is frozen. The conversation then waits until a later sweep."""
    on = KillSwitch.objects.visible_to(actor).on().of_kinds(KillSwitch.Kind.FREEZE_LEARNING)
    return on.reaching(conversation.agent_id, conversation.channel).exists()


def attempt_extraction(tenant_id: int, conversation_id: int) -> None:
    """Extract in the tenant named by the task, never in the worker's own (R116); a failed call is retried later."""
    try:
        extract_conversation(conversation_id, actor=system_actor(tenant_id, "extractor"), backend=learning_backend())
    except BackendError as error:
        logger.warning("extraction postponed", extra={"conversation_id": conversation_id, "code": error.code})


def _decide(
    conversation: Conversation, lines: Sequence[ConversationLine], private: PrivateData, backend: ModelBackend
) -> VerdictEntry | ExtractedDraft:
    if not conversation.agent.has_learning:
        return VerdictEntry(Verdict.LEARNING_OFF, "Learning is off for this agent.")
    refusal = check_eligibility(lines, conversation.outcome, off_the_record=conversation.off_the_record)
    if isinstance(refusal, LearningRejection):
        return VerdictEntry(Verdict(refusal.verdict), refusal.reason)
    reply = backend.complete(_request(conversation, lines))
    found = parse_extraction(reply.text)
    if isinstance(found, MalformedExtraction):
        return VerdictEntry(Verdict.MALFORMED, found.reason, reply)
    if not isinstance(found, ExtractedSkill):
        return VerdictEntry(Verdict.NOTHING, "The model saw no reusable procedure.", reply)
    texts = (found.title, found.description, found.body)
    masked = count_masked(texts, PiiMasker.against(private.known, templates=private.templates))
    vetted = vet_draft(found.name, *texts, known=private.known, templates=private.templates)
    if isinstance(vetted, LearningRejection):
        return VerdictEntry(Verdict(vetted.verdict), vetted.reason, reply, masked_counts=masked)
    draft, of_days = resolve_relative_dates(vetted, private.day)
    return ExtractedDraft(draft, reply, called_tools(lines), masked, of_days)


def _store_draft(
    conversation: Conversation, worthwhile: ExtractedDraft, failures: int, actor: Actor
) -> Extraction | None:
    reply, name = worthwhile.reply, worthwhile.draft.name
    try:
        # Draft and verdict are stored in one transaction: if another worker's verdict exists, this draft is rolled back.
        with acting_as(actor):
            refuse_quarantined([conversation.pk], actor=actor)
            lock_skill_comparison(conversation.agent_id)
            found, skill = _draft_or_support(conversation, worthwhile, actor)
            return write_verdict(conversation, found, actor=actor, skill=skill)
    except IntegrityError:
        return read_verdict(conversation, actor=actor)
    except Conflict:
        # A retired skill has this name. It is neither overwritten nor drafted again (R117).
        return write_or_read_verdict(
            conversation, VerdictEntry(Verdict.KNOWN, f"The agent has a skill {name} already.", reply), actor=actor
        )
    except (StoppedByKillSwitch, MaterialQuarantined):
        # A person stopped it during the model call. The conversation is processed once learning resumes, or it is released.
        release_extraction(conversation, failures, actor=actor)
        return None
    except GovernanceError as refusal:
        return write_or_read_verdict(conversation, VerdictEntry(Verdict.REFUSED, str(refusal), reply), actor=actor)


def _draft_or_support(
    conversation: Conversation, worthwhile: ExtractedDraft, actor: Actor
) -> tuple[VerdictEntry, Skill]:
    """Count the draft as support for a runbook that certainly has the same content, else store it as a new draft."""
    draft, reply, masked = worthwhile.draft, worthwhile.reply, worthwhile.masked_counts
    tools = tuple(sorted(tools_in(draft.body, worthwhile.called)))
    drafted = f"Drafted {draft.name}."
    if alike := find_similar_skill(draft, worthwhile.called, conversation.agent_id, actor=actor):
        skill, why = alike
        if why.is_sure:
            adds = skill.status == Skill.Status.DRAFT
            outcome = f"Adds to the draft {skill.name}." if adds else f"The agent has the skill {skill.name}."
            return VerdictEntry(
                Verdict.SUPPORTS if adds else Verdict.KNOWN,
                f"{outcome} {why.reason}",
                reply,
                tools,
                worthwhile.masked_counts,
            ), skill
        drafted += f" Perhaps {skill.name} says the same. {why.reason}"
    if worthwhile.of_days:
        drafted += f" {worthwhile.of_days}"
    imported = conversation.origin == Conversation.Origin.IMPORTED
    new = draft_skill(
        conversation.agent_id,
        actor=actor,
        values=asdict(draft),
        evidence={"conversation_id": conversation.pk},
        taint=Taint.IMPORT if imported else Taint.CUSTOMER,
    )
    return VerdictEntry(Verdict.DRAFTED, drafted, reply, tools, masked), new


def _request(conversation: Conversation, lines: Sequence[ConversationLine]) -> ModelRequest:
    return ModelRequest(
        model=learning_model(conversation.agent),
        max_tokens=MAX_TOKENS,
        system=(SystemBlock(EXTRACT_SKILL),),
        messages=({"role": "user", "content": transcript_message(transcript_lines(lines)[-TRANSCRIPT_LINES:])},),
        timeout_seconds=CALL_SECONDS,
        effort="low",
        output_schema=json.loads(canonical_json(extraction_schema)),
    )


def transcript_lines(lines: Sequence[ConversationLine]) -> list[TranscriptLine]:
    """Return the conversation's lines for the model, without texts that the agent recalled."""
    entries = []
    for line in drop_recalled_calls(lines):
        if line.text:
            entries.append(TranscriptLine(role=line.sender, text=line.text, reported=line.reported))
        for call in line.tool_calls:
            entries.append(
                TranscriptLine(role="agent", tool_name=call.name, arguments=json.loads(json.dumps(call.arguments)))
            )
            entries.append(TranscriptLine(role="tool", text=call.result, tool_name=call.name, is_error=call.is_error))
    return entries
