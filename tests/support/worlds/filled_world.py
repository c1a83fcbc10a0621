"""A world with a row in every tenant table, each made by the product's own acts."""

import contextlib
from dataclasses import dataclass
from io import StringIO

from django.core.management import call_command
from django.db import connection

from apps.conversations.actions import receive_message, resolve_conversation
from apps.conversations.models import Conversation, InboundEvent
from apps.governance.actors import Role
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import NotPermitted
from apps.governance.models import Proposal
from apps.governance.policy.risk_tiers import RiskTier
from apps.governance.proposals.actions import approve_proposal
from apps.governance.proposals.approval_rules import ApprovalVerdict
from apps.kill_switches.actions import deactivate_kill_switch
from apps.learning.digest.pipeline import digest_agent_lessons
from apps.learning.extraction.pipeline import extract_conversation
from apps.llm.model_backend import JsonObject, ModelBackend, ModelReply, ModelRequest, StopReason, ToolUse, Usage
from apps.memory.models import AgentMemory, CustomerProfile
from apps.personas.actions import propose_patch
from apps.personas.models import Persona
from apps.restore.actions import make_checkpoint
from apps.review.bulk.eligibility import Verb
from apps.review.bulk.journal import begin_bulk
from apps.review.skill_actions import approve_skill
from apps.runtime.schedules.schedule_runner import run_schedule_now
from apps.runtime.worker.sync_driver import answer_conversation
from apps.skills.actions import count_use
from apps.skills.models import Skill
from tests.support.factories.comments import make_comment
from tests.support.factories.contradictions import make_contradiction, run_scan
from tests.support.factories.desk import make_escalation, make_send_rule, make_waiting_draft
from tests.support.factories.endpoints import make_endpoint, make_price
from tests.support.factories.external_tools import make_waiting_call
from tests.support.factories.idempotency_keys import make_idempotency_records
from tests.support.factories.lessons import make_answer_lesson, make_example, make_shown_cluster
from tests.support.factories.member_talks import make_assistant, make_member_overlay
from tests.support.factories.memory_tiers import distil, make_tier
from tests.support.factories.notes import make_note, make_note_of_customer
from tests.support.factories.reflections import make_reflection
from tests.support.factories.reports import make_report
from tests.support.factories.saved_filters import make_filter
from tests.support.factories.schedules import make_schedule
from tests.support.servers.smtp_server import make_notice
from tests.support.servers.webhook_receiver import make_tried_webhook
from tests.support.worlds.world import (
    World,
    make_block,
    make_conversation,
    make_event,
    make_grants,
    make_identity_card,
    make_invokable,
    make_limit,
    make_memory,
    make_overlay,
    make_persona,
    make_profile,
    make_role_grants,
    make_rule,
    make_skill,
    make_staff,
    make_switch,
    make_visit,
    make_world,
)


@dataclass(frozen=True)
class Filled:
    """A tenant with one of every event and row."""

    world: World
    persona: Persona
    approved: Skill
    draft: Skill
    memory: AgentMemory
    profile: CustomerProfile
    proposal: Proposal
    event: InboundEvent
    resolved: Conversation
    open: Conversation


@dataclass
class SkillReadingModel:
    """A model that reads the skills before it answers."""

    backend: ModelBackend
    has_looked: bool = False

    def complete(self, request: ModelRequest) -> ModelReply:
        if self.has_looked:
            return self.backend.complete(request)
        self.has_looked = True
        use: JsonObject = {"type": "tool_use", "id": "toolu_1", "name": "list_skills", "input": {}}
        wish = ToolUse("toolu_1", "list_skills", {})
        return ModelReply("msg_1", "stand-in", StopReason.TOOL_USE, (use,), "", (wish,), Usage(9, 3), is_stand_in=True)


def fill_world(backend: ModelBackend) -> Filled:
    """Make one turn, one use of a skill, one proposal, one extraction, and a row of every model."""
    world = make_world()
    persona, memory, profile = make_persona(world), make_memory(world), make_profile(world)
    approved, draft = make_skill(world, "approved"), make_skill(world)
    count_use(approved, actor=world.bot)
    approve_once(world, draft)
    make_agent_rows(world)
    make_checkpoint("Before the sale", actor=world.operator, agent_id=world.agent.pk)
    proposal = propose_patch(persona, actor=world.bot, text="Say hello first.")
    event = make_event(world)
    answer_conversation(world.tenant.pk, event.conversation_id, backend=SkillReadingModel(backend))
    resolved = make_conversation(world)
    resolve_conversation(resolved, actor=world.bot, outcome=Conversation.Outcome.UNSOLVED)
    extract_conversation(resolved.pk, actor=world.system, backend=backend)
    thread = make_event(world, "Is anybody there?").conversation
    make_waiting_draft(world, thread)
    make_escalation(world, thread)
    make_send_rule(world)
    make_reflection(world, backend)
    run_scan(world)
    make_contradiction(world)
    make_answer_lesson(world)
    make_shown_cluster(world)
    make_example(world)
    digest_agent_lessons(world.agent.pk, actor=world.system, backend=backend)
    make_tier(world)
    distil(world, backend, "short")
    make_endpoint(world)
    make_price(world)
    make_tried_webhook(world)
    make_waiting_call(world, thread)
    make_comment(world)
    make_report(world)
    make_notice(world)
    make_filter(world)
    make_idempotency_records(world)
    begin_bulk(Verb.REJECT, {proposal.pk: proposal.version}, actor=world.operator)
    make_note(world)
    make_note_of_customer(world, actor=world.bot)
    make_schedule(world)
    run_schedule_now(make_schedule(world).pk, actor=world.operator)
    refuse_once(draft, world)
    receive_message(
        world.agent.pk,
        actor=world.bot,
        channel=thread.channel,
        conversation_key=thread.conversation_key,
        text="Hello?",
        idempotency_key="again",
    )
    make_rights_rows(world)
    return Filled(world, persona, approved, draft, memory, profile, proposal, event, resolved, thread)


def refuse_once(draft: Skill, world: World) -> None:
    """Make one refused attempt, and link and verify the audit log as after a commit."""
    with contextlib.suppress(NotPermitted):
        approve_skill(draft, actor=world.bot, reviewed_sha256=draft.content_sha256)
    check_deferred_constraints()
    call_command("verify_audit", tenant=world.tenant.key, stderr=StringIO())


def check_deferred_constraints() -> None:
    """Check the deferred constraints, which a commit would check: tests that roll back never reach them."""
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE; SET CONSTRAINTS ALL DEFERRED")


def make_rights_rows(world: World) -> None:
    """Make grants that differ for an agent and a limit for one member, without removing any right that the filling needs."""
    make_grants(world, "profile_amend__notes")
    make_role_grants(world, role=Role.AGENT)
    make_limit(world, agents=[world.agent.pk])
    make_visit(world, make_staff())


def approve_once(world: World, draft: Skill) -> None:
    """Record one reviewer's approval of a draft, without applying it."""
    with acting_as(world.operator):
        proposal = Proposal.objects.visible_to(world.operator).about(draft).get()
    approve_proposal(proposal, actor=world.operator, verdict=ApprovalVerdict(proposal.content_sha256, RiskTier.LOW))


def make_agent_rows(world: World) -> None:
    """Make the agent's texts by people beside its persona; the agent's own rule has the lowest id."""
    make_block(world)
    make_block(world, "PersonaBelief", is_read_only=True)
    make_invokable(world)
    make_overlay(world)
    make_member_overlay(make_assistant(world))
    make_identity_card(world)
    make_rule(world)
    deactivate_kill_switch(make_switch(world), actor=world.operator)
    make_rule(world, "Never promise a refund date.", of_agent=False)
