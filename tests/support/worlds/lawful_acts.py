"""A fresh world for each act of the policy in which it is lawful, and the act's row."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django.db import connection

from apps.conversations.actions import resolve_conversation
from apps.conversations.quarantine import quarantine_conversation
from apps.governance.actors import Actor, Role
from apps.governance.database.actor_transaction import acting_as
from apps.governance.policy.policy_table import Act
from apps.governance.policy.risk_tiers import RiskTier
from apps.governance.proposals.actions import approve_proposal, quarantine_proposal, reject_proposal
from apps.governance.proposals.approval_rules import ApprovalVerdict
from apps.memory.actions import amend_block
from apps.personas.actions import archive_persona, propose_patch, retire_rule
from apps.prompt.text_reuse.derived_lines import NO_RECEIVED_TEXTS
from apps.skills.actions import deprecate_skill, revise_skill
from apps.skills.attachment_upload import upload_file
from apps.skills.models import Skill
from apps.skills.proposals import propose_revision
from apps.skills.quarantine import quarantine_skill
from apps.tenants.actions import amend_agent, deactivate_member, issue_token
from apps.tenants.authentication.actor_resolution import new_tenant_actor, staff_actor
from apps.tenants.models import StaffAccess, TenantSettings, User
from tests.support.factories.approvals import approve_as_read
from tests.support.factories.comments import COMMENT_SUBJECTS
from tests.support.factories.contradictions import CONTRADICTION_SUBJECTS
from tests.support.factories.delegations import make_asking_conversation
from tests.support.factories.desk import (
    make_delayed_conversation,
    make_escalation,
    make_send_rule,
    make_taken_over_conversation,
    make_waiting_draft,
)
from tests.support.factories.endpoints import ENDPOINT_SUBJECTS
from tests.support.factories.external_tools import TOOL_SUBJECTS
from tests.support.factories.external_turns import EXTERNAL_AGENT_SUBJECTS
from tests.support.factories.lessons import LEARNING_SUBJECTS
from tests.support.factories.member_talks import TALK_SUBJECTS
from tests.support.factories.memory_tiers import TIER_SUBJECTS
from tests.support.factories.notes import NOTE_SUBJECTS
from tests.support.factories.reports import REPORT_SUBJECTS
from tests.support.factories.schedules import SCHEDULE_SUBJECTS
from tests.support.servers.webhook_receiver import WEBHOOK_SUBJECTS
from tests.support.worlds.world import (
    World,
    make_block,
    make_conversation,
    make_event,
    make_grants,
    make_identity_card,
    make_invokable,
    make_limit,
    make_member,
    make_memory,
    make_neighbour,
    make_overlay,
    make_persona,
    make_profile,
    make_role_grants,
    make_rule,
    make_skill,
    make_skill_with_file,
    make_staff,
    make_switch,
    make_user,
    make_visit,
    make_world,
    member_of,
)


@dataclass(frozen=True)
class Scene:
    """A world prepared for one act. `subject` is the act's row, or the values that make one."""

    act: Act
    world: World
    subject: Any  # Any: each act has its own kind
    staff_user: User
    visit: StaffAccess | None = None

    @property
    def reader(self) -> Actor:
        """The actor who reads the tenant in which the act is recorded."""
        if isinstance(self.subject, Actor):
            return self.subject
        return self.world.operator

    def actor_of(self, role: Role) -> Actor:
        """Return the world's actor of a role."""
        world = self.world
        return {
            Role.OPERATOR: world.operator,
            Role.ADMIN: world.admin,
            Role.AGENT: world.bot,
            Role.SYSTEM: world.system,
            Role.STAFF: staff_actor(self.staff_user.pk, world.tenant.pk),
        }[role]


def make_scene(act: Act, role: Role | None = None) -> Scene:
    """Make a world for the act; an act without an entry fails here, so every new act joins the tests."""
    world, staff_user = make_world(), make_staff()
    subject = _SUBJECTS[act](world)
    if act is Act.TENANT_LEAVE:
        subject = make_visit(world, staff_user)
    visit = make_visit(world, staff_user) if role is Role.STAFF and act is not Act.TENANT_ENTER else None
    return Scene(act, world, subject, staff_user, visit)


def _no_subject(world: World) -> None:
    del world


def _new_tenant_actor(world: World) -> Actor:
    del world
    return new_tenant_actor()


def _tenant_settings(world: World) -> TenantSettings:
    with acting_as(world.operator):
        return TenantSettings.objects.visible_to(world.operator).get()


def _archived_persona(world: World) -> Any:
    return archive_persona(make_persona(world), actor=world.operator)


def _open_proposal(world: World) -> Any:
    return propose_patch(make_persona(world), actor=world.bot, text="Say hello first.")


def _skill_revision(world: World) -> Any:
    return propose_revision(make_skill(world, "approved"), actor=world.bot, values={"body": "Better."})


def _approved_proposal(world: World) -> Any:
    row = _skill_revision(world)
    return approve_proposal(row, actor=world.operator, verdict=ApprovalVerdict(row.content_sha256, RiskTier.LOW))


def _applied_proposal(world: World) -> Any:
    return approve_as_read(_skill_revision(world), world.operator).proposal


def _rejected_proposal(world: World) -> Any:
    return reject_proposal(_skill_revision(world), actor=world.operator, reason="No.")


def _quarantined_proposal(world: World) -> Any:
    return quarantine_proposal(_skill_revision(world), actor=world.operator, reason="Odd.")


def _expired_proposal(world: World) -> Any:
    row = _skill_revision(world)
    with acting_as(world.system), connection.cursor() as cursor:
        cursor.execute("UPDATE governance_proposal SET expires_at = now() - interval '1 day' WHERE id = %s", [row.pk])
        row.refresh_from_db(fields=["version"])
    return row


def _stale_proposal(world: World) -> Any:
    row = _skill_revision(world)
    with acting_as(world.operator):
        revise_skill(Skill.objects.get(pk=row.target_id), actor=world.operator, values={"body": "Mine."})
    return row


def _approved_skill(world: World) -> Any:
    return make_skill(world, "approved")


def _block_of_agent(world: World) -> Any:
    return amend_block(make_block(world), actor=world.bot, heard=NO_RECEIVED_TEXTS, body="By the agent.")


def _skill_with_two_files(world: World) -> Any:
    return upload_file(make_skill_with_file(world), actor=world.bot, name="terms.txt", content=b"Pay first.")


_SUBJECTS: Mapping[Act, Callable[[World], Any]] = {
    Act.PERSONA_CREATE: _no_subject,
    Act.PERSONA_AMEND: make_persona,
    Act.PERSONA_ARCHIVE: make_persona,
    Act.PERSONA_ACTIVATE: _archived_persona,
    Act.PERSONA_PROPOSE: make_persona,
    Act.OVERLAY_WRITE: make_overlay,
    Act.IDENTITY_CARD_WRITE: make_identity_card,
    Act.RULE_ADD: _no_subject,
    Act.RULE_AMEND: make_rule,
    Act.RULE_RETIRE: make_rule,
    Act.RULE_PROPOSE: make_rule,
    Act.RULE_RESTORE: lambda world: retire_rule(make_rule(world), actor=world.operator),
    Act.SKILL_DRAFT: _no_subject,
    Act.SKILL_AMEND: make_skill,
    Act.SKILL_APPROVE: make_skill,
    Act.SKILL_DEPRECATE: lambda world: make_skill(world, "approved"),
    Act.SKILL_REVISE: lambda world: make_skill(world, "approved"),
    Act.SKILL_PROPOSE: lambda world: make_skill(world, "approved"),
    Act.SKILL_DISCARD: make_skill,
    Act.SKILL_UNDO: _approved_skill,
    Act.SKILL_REDRAFT: lambda world: deprecate_skill(make_skill(world, "approved"), actor=world.operator),
    Act.SKILL_FETCH: lambda world: make_skill(world, "approved"),
    Act.SKILL_ATTACH: make_skill,
    Act.SKILL_DETACH: make_skill_with_file,
    Act.SKILL_ARRANGE: _skill_with_two_files,
    **dict.fromkeys((Act.MEMORY_AMEND, Act.MEMORY_APPROVE, Act.MEMORY_PROPOSE, Act.MEMORY_SET_LINE_DATES), make_memory),
    **dict.fromkeys((Act.BLOCK_WRITE, Act.BLOCK_PROPOSE, Act.BLOCK_SET_LINE_DATES), make_block),
    Act.BLOCK_AMEND: lambda world: (
        amend_agent(world.agent, actor=world.admin, may_edit_memory=True),
        make_block(world),
    )[1],
    Act.BLOCK_APPROVE: _block_of_agent,
    **dict.fromkeys((Act.PROFILE_AMEND, Act.PROFILE_SET_LINE_DATES), make_profile),
    Act.PROFILE_PROPOSE: make_profile,
    Act.SKILL_RETAIN: lambda world: make_skill(world, "approved"),
    Act.SKILL_QUARANTINE: make_skill,
    Act.SKILL_RELEASE: lambda world: quarantine_skill(make_skill(world), actor=world.operator, reason="Odd."),
    Act.CONVERSATION_OPEN: _no_subject,
    Act.CONVERSATION_IMPORT: _no_subject,
    Act.CONVERSATION_RESOLVE: make_conversation,
    Act.CONVERSATION_ABANDON: make_conversation,
    Act.CONVERSATION_TAKE_OVER: make_conversation,
    Act.CONVERSATION_HAND_BACK: make_taken_over_conversation,
    Act.CONVERSATION_PROVE: make_conversation,
    Act.CONVERSATION_RATE: lambda world: resolve_conversation(make_conversation(world), actor=world.bot),
    Act.CONVERSATION_ERASE: lambda world: make_conversation(world, off_the_record=True),
    Act.CONVERSATION_QUARANTINE: make_conversation,
    Act.CONVERSATION_RELEASE: lambda world: quarantine_conversation(
        make_conversation(world), actor=world.operator, reason="Odd."
    ),
    Act.CONVERSATION_DELEGATE: make_asking_conversation,
    Act.MESSAGE_SEND: make_taken_over_conversation,
    Act.TURN_RUN: make_delayed_conversation,
    Act.MESSAGE_RECEIVE: lambda world: make_event(world).conversation,
    Act.DRAFT_CREATE: make_conversation,
    **dict.fromkeys(
        (Act.DRAFT_SUPERSEDE, Act.DRAFT_SEND, Act.DRAFT_SEND_EDITED, Act.DRAFT_DISCARD), make_waiting_draft
    ),
    **dict.fromkeys((Act.ESCALATION_OPEN, Act.ESCALATION_ANSWER, Act.ESCALATION_DISMISS), make_escalation),
    Act.SEND_RULE_WRITE: make_send_rule,
    Act.SEND_RULE_LIFT: make_send_rule,
    Act.PROPOSAL_SUBMIT: make_skill,
    Act.PROPOSAL_APPROVE: _skill_revision,
    Act.PROPOSAL_APPLY: _approved_proposal,
    Act.PROPOSAL_UNDO: _applied_proposal,
    # Of low risk: bulk decisions take nothing else.
    Act.PROPOSAL_REJECT: _skill_revision,
    Act.PROPOSAL_REOPEN: _rejected_proposal,
    Act.PROPOSAL_SNOOZE: _open_proposal,
    Act.PROPOSAL_CLAIM: _open_proposal,
    Act.PROPOSAL_REQUEST_REVISION: _open_proposal,
    Act.PROPOSAL_REBASE: _stale_proposal,
    Act.PROPOSAL_QUARANTINE: _open_proposal,
    Act.PROPOSAL_RELEASE: _quarantined_proposal,
    Act.PROPOSAL_WITHDRAW: _open_proposal,
    Act.PROPOSAL_EXPIRE: _expired_proposal,
    Act.TENANT_CREATE: _new_tenant_actor,
    Act.TENANT_ENTER: _no_subject,
    Act.TENANT_LEAVE: lambda _: None,
    Act.SETTINGS_AMEND: _tenant_settings,
    Act.SETTINGS_ROTATE_PROOF_KEY: _tenant_settings,
    Act.AGENT_CREATE: _no_subject,
    **dict.fromkeys((Act.AGENT_AMEND, Act.AGENT_END_SESSIONS), lambda world: world.agent),
    **dict.fromkeys((Act.ENDPOINT_CREATE, Act.PRICE_SET, Act.TOOL_SERVER_CREATE, Act.WEBHOOK_CREATE), _no_subject),
    **dict.fromkeys((Act.GRANT_SYNC, Act.CHECKPOINT_CREATE), _no_subject),
    **TALK_SUBJECTS,
    **EXTERNAL_AGENT_SUBJECTS,
    **ENDPOINT_SUBJECTS,
    **TIER_SUBJECTS,
    **TOOL_SUBJECTS,
    **SCHEDULE_SUBJECTS,
    **NOTE_SUBJECTS,
    **COMMENT_SUBJECTS,
    **REPORT_SUBJECTS,
    **WEBHOOK_SUBJECTS,
    **LEARNING_SUBJECTS,
    **CONTRADICTION_SUBJECTS,
    Act.INVOKABLE_ALLOW: make_neighbour,
    Act.INVOKABLE_AMEND: make_invokable,
    Act.INVOKABLE_WITHDRAW: make_invokable,
    Act.TOKEN_ISSUE: lambda world: world.agent,
    Act.TOKEN_REVOKE: lambda world: issue_token(world.agent, actor=world.admin, name="spare").row,
    Act.TOKEN_ROTATE: lambda world: issue_token(world.agent, actor=world.admin, name="spare").row,
    Act.MEMBER_ADD: lambda world: make_user(f"new@{world.tenant.key}.example"),
    Act.MEMBER_INVITE: lambda world: make_user(f"new@{world.tenant.key}.example"),
    Act.MEMBER_ACCEPT: lambda world: member_of(world, world.operator_user),
    Act.MEMBER_DEACTIVATE: make_member,
    Act.MEMBER_REACTIVATE: lambda world: deactivate_member(make_member(world), actor=world.admin),
    Act.MEMBER_CHANGE_ROLE: make_member,
    Act.MEMBER_RESET: make_member,
    Act.LIMIT_WRITE: make_limit,
    Act.LIMIT_LIFT: make_limit,
    Act.ROLE_GRANT_WRITE: make_role_grants,
    Act.ROLE_GRANT_WITHDRAW: make_role_grants,
    Act.GRANT_WRITE: make_grants,
    Act.GRANT_WITHDRAW: make_grants,
    Act.KILL_SWITCH_ACTIVATE: _no_subject,
    Act.KILL_SWITCH_DEACTIVATE: make_switch,
}

# Acts on no existing governed row.
MAKING_ACTS: frozenset[Act] = frozenset(
    {
        *(act for act, make in _SUBJECTS.items() if make is _no_subject),
        *(Act.TENANT_CREATE, Act.MEMBER_ADD, Act.MEMBER_INVITE, Act.INVOKABLE_ALLOW),
        *(Act.DRAFT_CREATE, Act.SCHEDULE_DRAFT, Act.NOTE_WRITE, Act.AGENT_TOOL_ALLOW),
        *(Act.TOOL_APPROVAL_REQUEST, Act.LEARNING_VERSION_PROPOSE, Act.CONTRADICTION_FIND),
        *(Act.EDIT_CLUSTER_FIND, Act.EXAMPLE_ADD, Act.COMMENT_ADD, Act.REPORT_CREATE),
    }
)
