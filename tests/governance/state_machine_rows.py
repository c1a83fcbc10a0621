"""Nouns with states: how a row gets into each, by the acts that lead there."""

from collections.abc import Callable
from dataclasses import dataclass

from django.db import connection

from apps.conversations.actions import abandon_conversation, resolve_conversation
from apps.conversations.models import Conversation
from apps.desk.actions import (
    answer_escalation,
    discard_draft,
    dismiss_escalation,
    send_draft,
    send_edited_draft,
    supersede_draft,
)
from apps.desk.models import Draft, Escalation
from apps.desk.reports.models import Report
from apps.governance.database.actor_transaction import acting_as
from apps.governance.models import Governed, Proposal
from apps.governance.policy.risk_tiers import RiskTier
from apps.governance.proposals.actions import approve_proposal, expire_proposal, quarantine_proposal, reject_proposal
from apps.governance.proposals.approval_rules import ApprovalVerdict
from apps.kill_switches.actions import deactivate_kill_switch
from apps.kill_switches.models import KillSwitch
from apps.learning.contradictions.models import Contradiction
from apps.learning.lessons.models import EditCluster, Example, LearningVersion
from apps.memory.models import MemoryTier
from apps.notebook.actions import drop_note, finish_note
from apps.notebook.models import Note
from apps.personas.actions import archive_persona, propose_patch, retire_rule
from apps.personas.models import Persona, StandingRule
from apps.review.models import Comment
from apps.schedules.actions import deprecate_schedule
from apps.schedules.models import Schedule
from apps.skills.models import Skill
from apps.tools.models import ToolApproval
from tests.support.factories.approvals import approve_as_read
from tests.support.factories.comments import comment_in
from tests.support.factories.contradictions import make_contradiction
from tests.support.factories.desk import make_escalation, make_waiting_draft
from tests.support.factories.external_tools import call_in
from tests.support.factories.lessons import make_cluster, make_example, make_version
from tests.support.factories.memory_tiers import make_tier
from tests.support.factories.notes import make_note
from tests.support.factories.reports import report_in
from tests.support.factories.schedules import make_paused_schedule, make_schedule, make_schedule_draft
from tests.support.worlds.world import (
    World,
    make_conversation,
    make_persona,
    make_rule,
    make_skill,
    make_switch,
)


@dataclass(frozen=True)
class Machine:
    """One noun's states: how a row gets into one, and what else a raw move has to set to break no other rule."""

    model: type[Governed]
    column: str
    make: Callable[[World, str], Governed]
    besides: dict[str, str]


def skill_in(world: World, state: str) -> Skill:
    skill = make_skill(world, state)
    if state == Skill.Status.DRAFT:
        with acting_as(world.operator):
            approve_unapplied(Proposal.objects.visible_to(world.operator).about(skill).get(), world)
    return skill


def approve_unapplied(proposal: Proposal, world: World) -> Proposal:
    """With all the approvals that its risk asks for, and not yet applied."""
    return approve_proposal(
        proposal, actor=world.operator, verdict=ApprovalVerdict(proposal.content_sha256, RiskTier.LOW)
    )


def persona_in(world: World, state: str) -> Persona:
    persona = make_persona(world)
    return archive_persona(persona, actor=world.operator) if state == Persona.Status.ARCHIVED else persona


def rule_in(world: World, state: str) -> StandingRule:
    rule = make_rule(world)
    return retire_rule(rule, actor=world.operator) if state == StandingRule.Status.RETIRED else rule


def conversation_in(world: World, state: str) -> Conversation:
    conversation = make_conversation(world)
    if state == Conversation.Status.RESOLVED:
        return resolve_conversation(conversation, actor=world.operator)
    return abandon_conversation(conversation, actor=world.operator) if state == "abandoned" else conversation


def proposal_in(world: World, state: str) -> Proposal:
    proposal = propose_patch(make_persona(world), actor=world.bot, text="Say hello first.")
    if state == Proposal.State.APPLIED:
        return approve_as_read(proposal, world.operator, {"style": "Hello first."}).proposal
    if state == Proposal.State.QUARANTINED:
        return quarantine_proposal(proposal, actor=world.operator, reason="Odd.")
    if state == Proposal.State.EXPIRED:
        with acting_as(world.system), connection.cursor() as cursor:
            cursor.execute(
                "UPDATE governance_proposal SET expires_at = now() - interval '1 day' WHERE id = %s", [proposal.pk]
            )
        return expire_proposal(proposal, actor=world.system)
    if state == Proposal.State.REJECTED:
        return reject_proposal(proposal, actor=world.operator, reason="No.")
    return approve_unapplied(proposal, world)


def switch_in(world: World, state: str) -> KillSwitch:
    switch = make_switch(world)
    return deactivate_kill_switch(switch, actor=world.operator) if state == KillSwitch.Status.OFF else switch


def draft_in(world: World, state: str) -> Draft:
    conversation = make_conversation(world)
    draft = make_waiting_draft(world, conversation)
    with acting_as(world.operator):
        message_id = conversation.messages.earliest("position").pk
    if state == Draft.Status.SENT:
        return send_draft(draft, actor=world.operator, message_id=message_id, reviewed_sha256=draft.text_sha256)
    if state == Draft.Status.SENT_EDITED:
        seen = draft.text_sha256
        return send_edited_draft(
            draft, actor=world.operator, message_id=message_id, sent_text="Mine.", reviewed_sha256=seen
        )
    if state == Draft.Status.SUPERSEDED:
        return supersede_draft(draft, actor=world.system)
    return discard_draft(draft, actor=world.operator, reason_code="wrong") if state == "discarded" else draft


def escalation_in(world: World, state: str) -> Escalation:
    escalation = make_escalation(world)
    if state == Escalation.Status.ANSWERED:
        return answer_escalation(escalation, actor=world.operator, answer="Yes.")
    return dismiss_escalation(escalation, actor=world.operator) if state == "dismissed" else escalation


A_MESSAGE = (
    "(SELECT min(said.id) FROM conversations_message AS said WHERE said.conversation_id = desk_draft.conversation_id)"
)


def schedule_in(world: World, state: str) -> Schedule:
    if state == Schedule.Status.DRAFT:
        return make_schedule_draft(world)
    if state == Schedule.Status.PAUSED:
        return make_paused_schedule(world)
    schedule = make_schedule(world)
    return deprecate_schedule(schedule, actor=world.operator) if state == "deprecated" else schedule


def note_in(world: World, state: str) -> Note:
    note = make_note(world)
    if state == Note.Status.DONE:
        return finish_note(note, actor=world.operator)
    return drop_note(note, actor=world.operator) if state == Note.Status.DROPPED else note


def tier_in(world: World, state: str) -> MemoryTier:
    return make_tier(world, is_held=state == MemoryTier.Status.PENDING)


MACHINES = {
    "note": Machine(Note, "status", note_in, {}),
    "tool_approval": Machine(
        ToolApproval,
        "status",
        call_in,
        dict.fromkeys(("approved", "refused", "consumed"), "decided_by = 'x'"),
    ),
    "schedule": Machine(
        Schedule,
        "status",
        schedule_in,
        dict.fromkeys(("approved", "paused"), "approved_by = 'x', approved_at = now()"),
    ),
    "skill": Machine(
        Skill,
        "status",
        skill_in,
        {
            "approved": "approved_by = 'x', approved_sha256 = content_sha256",
            "draft": "approved_by = '', approved_sha256 = ''",
        },
    ),
    "persona": Machine(Persona, "status", persona_in, {}),
    "rule": Machine(StandingRule, "status", rule_in, {}),
    "kill_switch": Machine(KillSwitch, "status", switch_in, {"off": "deactivated_by = 'x'"}),
    "learning_version": Machine(
        LearningVersion, "status", make_version, {"active": "approved_by = 'x', approved_at = now()"}
    ),
    "contradiction": Machine(
        Contradiction, "status", make_contradiction, {"dismissed": "decided_by = 'x', dismissal_reason = 'x'"}
    ),
    "edit_cluster": Machine(
        EditCluster,
        "status",
        make_cluster,
        {"proposed": "proposal_id = 1, decided_by = 'x'", "dismissed": "dismissal_reason = 'x', decided_by = 'x'"},
    ),
    "comment": Machine(Comment, "status", comment_in, {"withdrawn": "text = ''"}),
    "report": Machine(
        Report,
        "status",
        report_in,
        {
            "resolved": "outcome = 'skill', decided_by = 'x', decided_at = now()",
            "withdrawn": "explanation = '', correction = ''",
        },
    ),
    "example": Machine(Example, "status", make_example, {}),
    "tier": Machine(MemoryTier, "status", tier_in, {}),
    "draft": Machine(
        Draft,
        "status",
        draft_in,
        {
            "open": "message_id = NULL",
            "sent": f"decided_by = 'x', message_id = {A_MESSAGE}",
            "sent_edited": f"decided_by = 'x', message_id = {A_MESSAGE}",
            "discarded": "decided_by = 'x', reason_code = 'wrong', message_id = NULL",
            "superseded": "decided_by = 'x', message_id = NULL",
            "invented": "message_id = NULL",
        },
    ),
    "escalation": Machine(
        Escalation,
        "status",
        escalation_in,
        {
            "open": "answer = ''",
            "answered": "decided_by = 'x', answer = 'x'",
            "dismissed": "decided_by = 'x', answer = ''",
            "invented": "answer = ''",
        },
    ),
    "conversation": Machine(
        Conversation,
        "status",
        conversation_in,
        {"open": "resolved_at = NULL", "abandoned": "resolved_at = NULL"},
    ),
    "proposal": Machine(
        Proposal,
        "state",
        proposal_in,
        {
            **dict.fromkeys(("applied", "rejected", "expired"), "decided_by = 'x'"),
            "quarantined": "decided_by = 'x', quarantine_reason = 'x'",
        },
    ),
}
