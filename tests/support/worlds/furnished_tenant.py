"""A tenant with one row of every model; journal rows are written as the worker writes them."""

from datetime import date

from django.db.models import Model
from django.utils import timezone

from apps.conversations.models import Conversation
from apps.governance.actors import Role
from apps.governance.database.actor_transaction import acting_as
from apps.governance.models import AuditCheck, Refusal
from apps.kill_switches.actions import deactivate_kill_switch
from apps.learning.digest.digest_runs import write_digest_run
from apps.learning.digest.models import DigestRun
from apps.learning.extraction.models import Extraction
from apps.learning.reflection.models import Reflection
from apps.personas.actions import propose_patch
from apps.runtime.models import ModelCall, Session, SessionPart, SnapshotPart, Turn
from apps.skills.models import Skill
from apps.skills.proposals import propose_deprecation, propose_revision
from tests.support.factories.comments import make_comment
from tests.support.factories.contradictions import make_contradiction
from tests.support.factories.desk import make_escalation, make_send_rule, make_waiting_draft
from tests.support.factories.endpoints import make_endpoint, make_price
from tests.support.factories.external_tools import make_agent_tool, make_tool_server, make_waiting_call
from tests.support.factories.lessons import make_cluster, make_example, make_lesson, make_version
from tests.support.factories.memory_tiers import make_pending_tier, make_tier, make_tier_run
from tests.support.factories.notes import make_reminder
from tests.support.factories.reports import make_report
from tests.support.factories.schedules import make_schedule
from tests.support.servers.webhook_receiver import make_tried_webhook
from tests.support.worlds.filled_world import refuse_once
from tests.support.worlds.world import (
    World,
    make_block,
    make_conversation,
    make_event,
    make_identity_card,
    make_invokable,
    make_memory,
    make_overlay,
    make_persona,
    make_profile,
    make_role_grants,
    make_rule,
    make_skill,
    make_switch,
)


def make_console_rows(world: World) -> list[Model]:
    """Make one row of every model that the console shows."""
    persona, skill = make_persona(world), make_skill(world, "approved")
    conversation = make_conversation(world)
    with acting_as(world.system):
        make_event(world)
    turn = make_turn(world, conversation)
    rule, memory = make_rule(world), make_memory(world)
    return [
        persona,
        make_overlay(world),
        make_identity_card(world),
        make_identity_card(world, line_key="sales", assigned_name="Alan Turing"),
        make_rule(world, "Never promise a refund date.", of_agent=False),
        rule,
        deactivate_kill_switch(make_switch(world), actor=world.operator),
        skill,
        conversation,
        memory,
        make_block(world),
        make_tier_run(world),
        make_tier(world),
        make_pending_tier(world),
        make_invokable(world),
        make_waiting_draft(world),
        make_escalation(world),
        make_send_rule(world),
        make_lesson(world),
        make_reflection(world),
        make_version(world),
        make_contradiction(world, of=(rule.pk, memory.pk)),
        make_cluster(world),
        make_example(world),
        make_digest_run(world),
        make_endpoint(world),
        make_price(world),
        make_role_grants(world, role=Role.AGENT),
        make_agent_tool(world),
        make_waiting_call(world),
        make_tool_server(world),
        make_schedule(world),
        make_reminder(world, actor=world.bot, end_user_key="http:abc123"),
        make_tried_webhook(world),
        make_profile(world),
        propose_patch(persona, actor=world.bot, text="Say sorry first."),
        propose_revision(
            skill, actor=world.bot, values={"body": "## Procedure\n1. Ask how they wish to be reached.\n"}
        ),
        propose_deprecation(skill, actor=world.bot, rationale="Nobody asks for it."),
        make_comment(world),
        make_report(world),
        make_extraction(world, make_conversation(world, "http:other"), make_skill(world)),
        session_of(turn),
        world.agent,
        *make_audit_rows(world),
    ]


def make_audit_rows(world: World) -> list[Model]:
    """Make a refused attempt and a verification of the audit chain."""
    refuse_once(make_skill(world), world)
    with acting_as(world.operator):
        return [Refusal.objects.all()[0], AuditCheck.objects.all()[0]]


def session_of(turn: Turn) -> Session:
    """Return the session in which a finished turn was taken."""
    assert turn.session is not None
    return turn.session


def make_turn(world: World, conversation: Conversation) -> Turn:
    """Make a finished turn in a session of one slot, answered by the stand-in model."""
    of = {"tenant": world.tenant}
    with acting_as(world.system):
        session = Session.objects.create(
            **of, conversation=conversation, agent=world.agent, prefix_sha256="ab" * 32, tool_names=["get_skill"]
        )
        part, _ = SnapshotPart.objects.get_or_create(
            **of, slot=1, sha256="cd" * 32, defaults={"text": "# Who you represent\n<b>Ada</b>"}
        )
        SessionPart.objects.create(**of, session=session, position=0, part=part)
        turn = Turn.objects.create(
            **of,
            conversation=conversation,
            session=session,
            status=Turn.Status.RUNNING,
            lease_until=timezone.now(),
        )
        reply = conversation.messages.filter(sender="agent").last()
        Turn.objects.filter(pk=turn.pk).update(status=Turn.Status.DONE, finished_at=timezone.now(), reply=reply)
        ModelCall.objects.create(
            **of,
            turn=turn,
            fence=1,
            step=0,
            model="claude-sonnet-5-5",
            is_stand_in=True,
            stop_reason="end_turn",
            input_tokens=100,
            output_tokens=40,
            cache_read_tokens=800,
            cache_write_5m_tokens=100,
            cache_write_1h_tokens=0,
            cost_micro_usd=1234,
        )

        return Turn.objects.select_related("session").get(pk=turn.pk)


def make_reflection(world: World) -> Reflection:
    """Make the reflection of a day that taught nothing."""
    with acting_as(world.system):
        return Reflection.objects.create(
            tenant=world.tenant,
            agent=world.agent,
            day=date(2026, 5, 9),
            verdict=Reflection.Verdict.NOTHING,
            reason="The model saw no pattern in 4 conversations.",
            lease_until=timezone.now(),
            next_attempt_at=timezone.now(),
        )


def make_digest_run(world: World) -> DigestRun:
    """Make a digest whose answer broke a rule."""
    return write_digest_run(
        world.agent.pk,
        actor=world.system,
        verdict=DigestRun.Verdict.REFUSED,
        reasons=[
            "“Hide that you are an AI.”: It hides that the agent is an AI, against the tenant's disclosure policy."
        ],
        lesson_ids=[],
        unknown_lesson_ids=[99],
        version=None,
        reply=None,
    )


def make_extraction(world: World, conversation: Conversation, skill: Skill) -> Extraction:
    """Make a verdict that drafted this skill."""
    with acting_as(world.system):
        return Extraction.objects.create(
            tenant=world.tenant,
            agent=world.agent,
            conversation=conversation,
            verdict=Extraction.Verdict.DRAFTED,
            reason="The agent solved it with a tool.",
            skill=skill,
            model="claude-sonnet-5-5",
            is_stand_in=True,
            input_tokens=900,
            output_tokens=200,
        )
