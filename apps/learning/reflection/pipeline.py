"""The daily reflection: gate, masking, one call without tools, vetting, a few drafts and lines at most; one row per day (R119).

What one conversation teaches, extraction has looked at. A reflection looks for what only several of them show.
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
from apps.conversations.rules import Line
from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting
from apps.governance.errors import Frozen, GovernanceError
from apps.governance.models import Taint
from apps.kill_switches.models import KillSwitch
from apps.learning.conversation_transcript import transcript
from apps.learning.extraction.duplicate_skills import called_in, closest, compare_one_at_a_time
from apps.learning.extraction.eligibility import Refused, gate
from apps.learning.extraction.pipeline import learning_backend, learning_model, shown
from apps.learning.extraction.vetting import Vetted, by_date, vet
from apps.learning.model_spend import Counted, LearningWaits
from apps.learning.private_data import known_about, own_templates
from apps.learning.reflection.memory_proposals import observe
from apps.learning.reflection.memory_vetting import CONVERSATIONS_READ, LINES_READ, SHOWN_BY
from apps.learning.reflection.models import Reflection
from apps.learning.reflection.reflection_day import bounds_of, day_to_reflect_on
from apps.learning.reflection.reflection_runs import Held, Outcome, TakenOver, claim_day, put_off, settle
from apps.learning.retry_delay import MOST_FAILURES
from apps.learning.transcript_masking import masked
from apps.llm.model_backend import Backend, BackendError, Reply, Request, SystemBlock, WhoActs
from apps.memory.line_proposals import Brought
from apps.prompt.instruction_texts import REFLECT_ON_DAY
from apps.prompt.learning_prompts.extraction import Malformed
from apps.prompt.learning_prompts.reflection import OfDay, SkillOfDay, day_message, parse_reflection, reflection_schema
from apps.prompt.rendering.data_fences import canonical_json
from apps.skills.actions import draft_skill
from apps.tenants.authentication.actor_resolution import system_actor
from apps.tenants.models import Agent, TenantSettings
from apps.text_analysis.pii.known_values import Known
from apps.text_analysis.pii.masking import Firewall
from apps.text_analysis.pii.tenant_patterns import Template

logger = logging.getLogger(__name__)

Verdict = Reflection.Verdict
MAX_TOKENS: Final = 3072
CALL_SECONDS: Final = 90.0


@dataclass(frozen=True, slots=True)
class Read:
    """One conversation as it is read: its lines, and what in them is somebody's."""

    conversation_id: int
    lines: list[Line]
    known: Known


@dataclass(frozen=True, slots=True)
class Day:
    """What an agent's day gives to read."""

    agent: Agent
    resolved: int
    read: tuple[Read, ...]
    templates: tuple[Template, ...]

    @property
    def ids(self) -> tuple[int, ...]:
        return tuple(each.conversation_id for each in self.read)

    @property
    def known(self) -> Known:
        return reduce(or_, (each.known for each in self.read), Known())


@dataclass(frozen=True, slots=True)
class Placed:
    """What became of one vetted draft: a skill, nothing new, or a refusal."""

    said: str
    skill_id: int | None = None
    is_known: bool = False


def reflect(agent_id: int, *, actor: Actor, backend: Backend, now: datetime) -> Reflection | None:
    """Look at an agent's latest day once. None: it does not reflect, learning is frozen, or another worker looks at it.

    A failing model raises, and the day is put off.
    """
    with acting(actor):
        agent = Agent.objects.visible_to(actor).filter(pk=agent_id, has_learning=True, has_reflection=True).first()
        if agent is None or _is_frozen(agent, actor):
            return None
        zone = ZoneInfo(TenantSettings.objects.visible_to(actor).get().timezone)
    day = day_to_reflect_on(now, zone)
    held = claim_day(agent.pk, day, actor=actor)
    if held is None:
        return None
    with acting(actor):
        gathered = _gathered(agent, day, zone, actor)
    return _settled(held, gathered, actor, backend)


def attempt_reflection(tenant_id: int, agent_id: int) -> None:
    """Reflect under the tenant that came with the id; a failing model is asked again later."""
    try:
        reflect(agent_id, actor=system_actor(tenant_id, "reflector"), backend=learning_backend(), now=timezone.now())
    except BackendError as error:
        logger.warning("reflection postponed", extra={"agent_id": agent_id, "code": error.code})


def _is_frozen(agent: Agent, actor: Actor) -> bool:
    on = KillSwitch.objects.visible_to(actor).on().of_kinds(KillSwitch.Kind.FREEZE_LEARNING)
    return on.reaching(agent.pk, "").exists()


def _gathered(agent: Agent, day: date, zone: ZoneInfo, actor: Actor) -> Day:
    begins, ends = bounds_of(day, zone)
    rows = Conversation.objects.visible_to(actor).filter(
        agent=agent,
        status=Conversation.Status.RESOLVED,
        origin=Conversation.Origin.LIVE,
        off_the_record=False,
        member_user_id=None,
        resolved_at__gte=begins,
        resolved_at__lt=ends,
    )
    latest = rows.order_by("-resolved_at", "-pk")[:CONVERSATIONS_READ]
    return Day(agent, rows.count(), tuple(_worth_reading(latest, actor)), own_templates(actor))


def _worth_reading(rows: Iterable[Conversation], actor: Actor) -> Iterator[Read]:
    """Those that the gate of extraction lets through, the earliest first."""
    for row in reversed(list(rows)):
        lines = transcript(row)
        if not isinstance(gate(lines, row.outcome, off_the_record=row.off_the_record), Refused):
            yield Read(row.pk, lines[-LINES_READ:], known_about(row, lines, actor))


def _settled(held: Held, day: Day, actor: Actor, backend: Backend) -> Reflection | None:
    try:
        found = _decide(day, Counted(backend, day.agent.pk, actor))
    except LearningWaits as error:
        put_off(held, error, actor=actor)
        raise
    except BackendError as error:
        if error.who_acts is not WhoActs.DEVELOPER and held.failures + 1 < MOST_FAILURES:
            put_off(held, error, actor=actor)
            raise
        found = Outcome(Verdict.FAILED, f"The model failed over it, last with {error.code}. {error}", day.ids)
    try:
        if isinstance(found, Outcome):
            return settle(held, found, actor=actor)
        return _draft(held, day, *found, actor=actor)
    except TakenOver:
        return None
    except Frozen:
        # Thrown while the model read; the day keeps its turn for when learning goes on.
        put_off(held, None, actor=actor)
        return None
    except GovernanceError as refusal:
        reply = None if isinstance(found, Outcome) else found[1]
        return settle(held, Outcome(Verdict.REFUSED, str(refusal), day.ids, reply), actor=actor)


def _decide(day: Day, backend: Backend) -> Outcome | tuple[OfDay, Reply]:
    if len(day.read) < SHOWN_BY:
        said = f"{day.resolved} conversations ended, {len(day.read)} of them may teach something; two are needed."
        return Outcome(Verdict.TOO_FEW, said, day.ids)
    reply = backend.complete(_request(day))
    found = parse_reflection(reply.text)
    if isinstance(found, Malformed):
        return Outcome(Verdict.MALFORMED, found.reason, day.ids, reply)
    if found.is_empty:
        return Outcome(Verdict.NOTHING, f"The model saw no pattern in {len(day.read)} conversations.", day.ids, reply)
    return found, reply


def _request(day: Day) -> Request:
    conversations = [
        shown(masked(each.lines, Firewall.against(each.known, templates=day.templates))) for each in day.read
    ]
    return Request(
        model=learning_model(day.agent),
        max_tokens=MAX_TOKENS,
        system=(SystemBlock(REFLECT_ON_DAY),),
        messages=({"role": "user", "content": day_message(conversations)},),
        timeout_seconds=CALL_SECONDS,
        effort="low",
        output_schema=json.loads(canonical_json(reflection_schema)),
    )


def _draft(held: Held, day: Day, found: OfDay, reply: Reply, *, actor: Actor) -> Reflection:
    """Drafts, lines and verdict stand or fall together; what is refused of them takes none of the others with it."""
    with transaction.atomic(), acting(actor):
        compare_one_at_a_time(day.agent.pk)
        placed = [_vetted_and_placed(each, day, actor) for each in found.skills]
        brought = _remembered(found, day, actor)
        made = tuple(each.skill_id for each in placed if each.skill_id)
        is_known = brought.is_known or any(each.is_known for each in placed)
        proposals = (brought.proposal_id,) if brought.proposal_id else ()
        verdict = Verdict.DRAFTED if made or proposals else Verdict.KNOWN if is_known else Verdict.REFUSED
        reasons = " ".join([*(each.said for each in placed), *brought.said])
        return settle(held, Outcome(verdict, reasons, day.ids, reply, made, proposals), actor=actor)


def _vetted_and_placed(found: SkillOfDay, day: Day, actor: Actor) -> Placed:
    vetted, said = _vetted(found, day)
    if vetted is None:
        return Placed(said)
    # The conversations of a day may have begun on another: no date is sure.
    _, of_days = by_date(vetted, None)
    placed = _placed(vetted, found, day, actor)
    return replace(placed, said=f"{placed.said} {of_days}".strip())


def _remembered(found: OfDay, day: Day, actor: Actor) -> Brought:
    """What of the business becomes lines that wait for a person."""
    if not found.memories:
        return Brought(None, ())
    firewall = Firewall.against(day.known, templates=day.templates)
    try:
        with transaction.atomic():
            return observe(found.memories, day.agent.pk, day.ids, firewall, actor=actor)
    except Frozen:
        raise
    except GovernanceError as refusal:
        # Most often somebody said yes to the lines that wait, and no more may join them.
        return Brought(None, (f"What it would remember was refused: {refusal}",))


def _vetted(found: SkillOfDay, day: Day) -> tuple[Vetted | None, str]:
    cited = [number for number in found.conversations if number <= len(day.read)]
    if len(cited) < SHOWN_BY:
        return None, f"{found.skill.name[:64]} names {len(cited)} conversations that show it; two are needed."
    vetted = vet(
        found.skill.name,
        found.skill.title,
        found.skill.description,
        found.skill.body,
        known=day.known,
        templates=day.templates,
    )
    return (None, vetted.reason) if isinstance(vetted, Refused) else (vetted, "")


def _placed(draft: Vetted, found: SkillOfDay, day: Day, actor: Actor) -> Placed:
    cited = [day.read[number - 1] for number in found.conversations if number <= len(day.read)]
    called = frozenset[str]().union(*(called_in(each.lines) for each in cited))
    alike = closest(draft, called, day.agent.pk, actor=actor)
    if alike and alike[1].is_sure:
        return Placed(f"The agent has {alike[0].name}. {alike[1].reason}", is_known=True)
    evidence = {"conversation_ids": [each.conversation_id for each in cited]}
    try:
        with transaction.atomic():
            skill = draft_skill(
                day.agent.pk, actor=actor, values=asdict(draft), evidence=evidence, taint=Taint.CUSTOMER
            )
    except Frozen:
        raise
    except GovernanceError as refusal:
        # Most often a skill that was retired keeps the name.
        return Placed(f"{draft.name} was refused: {refusal}")
    perhaps = f" Perhaps {alike[0].name} says the same. {alike[1].reason}" if alike else ""
    return Placed(f"Drafted {draft.name} from {len(cited)} conversations.{perhaps}", skill.pk)
