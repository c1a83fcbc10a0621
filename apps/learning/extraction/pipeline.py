"""Post-resolution extraction: gate, fresh model call without tools, vetting, one draft at most; always one verdict (R110-R117)."""

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date

from django.conf import settings
from django.db import IntegrityError
from django.utils.module_loading import import_string

from apps.conversations.models import Conversation
from apps.conversations.rules import Line
from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting
from apps.governance.errors import Conflicting, Frozen, GovernanceError
from apps.governance.models import Taint
from apps.kill_switches.models import KillSwitch
from apps.learning.conversation_transcript import transcript
from apps.learning.extraction.duplicate_skills import called_in, closest, compare_one_at_a_time
from apps.learning.extraction.eligibility import Refused, gate, without_recalled
from apps.learning.extraction.extraction_runs import (
    Finding,
    claim,
    conclude,
    let_go,
    put_off,
    verdict_on,
    write_verdict,
)
from apps.learning.extraction.models import Extraction
from apps.learning.extraction.vetting import Vetted, by_date, counted_in, vet
from apps.learning.model_spend import Counted
from apps.learning.private_data import known_about, only_day, own_templates
from apps.learning.retry_delay import MOST_FAILURES
from apps.llm.model_backend import Backend, BackendError, Reply, Request, SystemBlock, WhoActs
from apps.prompt.instruction_texts import EXTRACT_SKILL
from apps.prompt.learning_prompts.extraction import (
    ExtractedSkill,
    Malformed,
    TranscriptLine,
    extraction_schema,
    parse_extraction,
    transcript_message,
)
from apps.prompt.rendering.data_fences import canonical_json
from apps.skills.actions import draft_skill
from apps.skills.models import Skill
from apps.tenants.authentication.actor_resolution import system_actor
from apps.tenants.endpoints.decrypted_endpoint import Reached
from apps.tenants.models import Agent
from apps.text_analysis.pii.known_values import Known
from apps.text_analysis.pii.masking import Firewall
from apps.text_analysis.pii.tenant_patterns import Template
from apps.text_analysis.procedure_similarity import tools_in

logger = logging.getLogger(__name__)

Verdict = Extraction.Verdict
MAX_TOKENS = 1024
TRANSCRIPT_LINES = 300
CALL_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Private:
    """What of a conversation is somebody's, what the tenant's own numbers look like, and the day on which it all was said."""

    known: Known
    templates: tuple[Template, ...]
    day: date | None


@dataclass(frozen=True, slots=True)
class Worthwhile:
    """A vetted draft, and the answer of the model it came from."""

    draft: Vetted
    reply: Reply
    called: frozenset[str]
    masked_counts: Mapping[str, int]
    of_days: str


def learning_backend() -> Backend:
    """The endpoint the environment names."""
    # By name: the web process and most commands load this module, and the vendor's SDK takes a second and a half.
    backend: Backend = import_string("apps.llm.anthropic.sync_client.backend_at")(
        settings.ANTHROPIC_API_KEY, settings.ANTHROPIC_BASE_URL
    )
    return backend


def learning_backend_at(place: Reached) -> Backend:
    """An endpoint of the tenant's own that a tier of memory is distilled at."""
    backend: Backend = import_string("apps.llm.anthropic.sync_client.waiting_backend_at")(
        place.api_key, place.base_url, allowed=settings.REACHABLE_NETWORKS
    )
    return backend


def learning_model(agent: Agent, own: str = "", endpoint_id: int | None = None) -> str:
    """Which model learns for an agent: one named for it, or the agent's. A model of another endpoint is not known at this one."""
    of_turns = agent.model if agent.endpoint_id == endpoint_id else ""
    return own or of_turns or settings.DEFAULT_MODEL


def extract(conversation_id: int, *, actor: Actor, backend: Backend, at_once: bool = False) -> Extraction | None:
    """Look at a resolved conversation once (R112).

    None: it is gone, not resolved, learning is frozen, another worker looks at it, or its next look is not due; a person's
    command looks `at_once`. A failing model raises, and the conversation is put off.
    """
    with acting(actor):
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
        if _is_frozen(conversation, actor):
            return None
    failures = claim(conversation, actor=actor, at_once=at_once)
    counted = Counted(backend, conversation.agent_id, actor)
    return None if failures is None else _look(conversation, failures, actor, counted)


def _look(conversation: Conversation, failures: int, actor: Actor, backend: Backend) -> Extraction | None:
    with acting(actor):
        # Whoever had it before may have finished between our look for a verdict and our claim.
        if known := Extraction.objects.filter(conversation=conversation).first():
            return known
        lines = transcript(conversation)
        known_here = known_about(conversation, lines, actor)
        private = Private(known_here, own_templates(actor), only_day(conversation, actor))
    decided: Finding | Worthwhile | None
    try:
        decided = _decide(conversation, lines, private, backend)
    except BackendError as error:
        decided = _given_up(error, failures + 1)
        if decided is None:
            put_off(conversation, failures + 1, error, actor=actor)
            raise
    if isinstance(decided, Finding):
        return conclude(conversation, decided, actor=actor)
    return _draft(conversation, decided, failures, actor)


def _given_up(error: BackendError, failures: int) -> Finding | None:
    """What ends the trying: a request that is wrong in itself, or a model that failed over it too often."""
    if error.who_acts is WhoActs.DEVELOPER:
        return Finding(Verdict.FAILED, f"The model refused the request ({error.code}). {error}")
    if error.is_worth_retrying and failures >= MOST_FAILURES:
        return Finding(Verdict.FAILED, f"The model failed {failures} times over it, last with {error.code}. {error}")
    return None


def _is_frozen(conversation: Conversation, actor: Actor) -> bool:
    """While learning is frozen the conversation waits for its verdict; the sweep comes back to it."""
    on = KillSwitch.objects.visible_to(actor).on().of_kinds(KillSwitch.Kind.FREEZE_LEARNING)
    return on.reaching(conversation.agent_id, conversation.channel).exists()


def attempt(tenant_id: int, conversation_id: int) -> None:
    """Extract under the tenant that came with the id, never the worker's own (R116); a failing model is asked again later."""
    try:
        extract(conversation_id, actor=system_actor(tenant_id, "extractor"), backend=learning_backend())
    except BackendError as error:
        logger.warning("extraction postponed", extra={"conversation_id": conversation_id, "code": error.code})


def _decide(
    conversation: Conversation, lines: Sequence[Line], private: Private, backend: Backend
) -> Finding | Worthwhile:
    if not conversation.agent.has_learning:
        return Finding(Verdict.LEARNING_OFF, "Learning is off for this agent.")
    refusal = gate(lines, conversation.outcome, off_the_record=conversation.off_the_record)
    if isinstance(refusal, Refused):
        return Finding(Verdict(refusal.verdict), refusal.reason)
    reply = backend.complete(_request(conversation, lines))
    found = parse_extraction(reply.text)
    if isinstance(found, Malformed):
        return Finding(Verdict.MALFORMED, found.reason, reply)
    if not isinstance(found, ExtractedSkill):
        return Finding(Verdict.NOTHING, "The model saw no reusable procedure.", reply)
    texts = (found.title, found.description, found.body)
    masked = counted_in(texts, Firewall.against(private.known, templates=private.templates))
    vetted = vet(found.name, *texts, known=private.known, templates=private.templates)
    if isinstance(vetted, Refused):
        return Finding(Verdict(vetted.verdict), vetted.reason, reply, masked_counts=masked)
    draft, of_days = by_date(vetted, private.day)
    return Worthwhile(draft, reply, called_in(lines), masked, of_days)


def _draft(conversation: Conversation, worthwhile: Worthwhile, failures: int, actor: Actor) -> Extraction | None:
    reply, name = worthwhile.reply, worthwhile.draft.name
    try:
        # Draft and verdict stand or fall together: where another worker's verdict stands, this draft goes too.
        with acting(actor):
            compare_one_at_a_time(conversation.agent_id)
            found, skill = _placed(conversation, worthwhile, actor)
            return write_verdict(conversation, found, actor=actor, skill=skill)
    except IntegrityError:
        return verdict_on(conversation, actor=actor)
    except Conflicting:
        # A retired one has the name: never overwritten, never drafted twice (R117).
        return conclude(
            conversation, Finding(Verdict.KNOWN, f"The agent has a skill {name} already.", reply), actor=actor
        )
    except Frozen:
        # Thrown while the model read; the conversation keeps its turn for when learning goes on.
        let_go(conversation, failures, actor=actor)
        return None
    except GovernanceError as refusal:
        return conclude(conversation, Finding(Verdict.REFUSED, str(refusal), reply), actor=actor)


def _placed(conversation: Conversation, worthwhile: Worthwhile, actor: Actor) -> tuple[Finding, Skill]:
    """Where the agent has a runbook that surely says the same, this is one more reason for it; else there is a new draft."""
    draft, reply, masked = worthwhile.draft, worthwhile.reply, worthwhile.masked_counts
    tools = tuple(sorted(tools_in(draft.body, worthwhile.called)))
    drafted = f"Drafted {draft.name}."
    if alike := closest(draft, worthwhile.called, conversation.agent_id, actor=actor):
        skill, why = alike
        if why.is_sure:
            adds = skill.status == Skill.Status.DRAFT
            said = f"Adds to the draft {skill.name}." if adds else f"The agent has the skill {skill.name}."
            return Finding(
                Verdict.SUPPORTS if adds else Verdict.KNOWN,
                f"{said} {why.reason}",
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
    return Finding(Verdict.DRAFTED, drafted, reply, tools, masked), new


def _request(conversation: Conversation, lines: Sequence[Line]) -> Request:
    return Request(
        model=learning_model(conversation.agent),
        max_tokens=MAX_TOKENS,
        system=(SystemBlock(EXTRACT_SKILL),),
        messages=({"role": "user", "content": transcript_message(shown(lines)[-TRANSCRIPT_LINES:])},),
        timeout_seconds=CALL_SECONDS,
        effort="low",
        output_schema=json.loads(canonical_json(extraction_schema)),
    )


def shown(lines: Sequence[Line]) -> list[TranscriptLine]:
    """What was said and done in the form in which a model is shown it, without what the agent recalled."""
    told = []
    for line in without_recalled(lines):
        if line.text:
            told.append(TranscriptLine(role=line.sender, text=line.text, reported=line.reported))
        for call in line.tool_calls:
            told.append(
                TranscriptLine(role="agent", tool_name=call.name, arguments=json.loads(json.dumps(call.arguments)))
            )
            told.append(TranscriptLine(role="tool", text=call.result, tool_name=call.name, is_error=call.is_error))
    return told
