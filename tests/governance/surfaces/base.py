"""What a way in is for the matrix, and the innermost of them: the actions themselves."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar, Protocol

from django.utils import timezone

from apps.conversations.actions import (
    abandon_conversation,
    import_conversation,
    open_conversation,
    receive_message,
    resolve_conversation,
)
from apps.conversations.models import Conversation
from apps.conversations.rules import ConversationLine
from apps.governance.actors import Actor, Role
from apps.governance.errors import GovernanceError
from apps.governance.models import Proposal, Taint
from apps.governance.policy.policy_table import Act
from apps.governance.policy.risk_tiers import RiskTier
from apps.governance.proposals.actions import (
    approve_proposal,
    claim_proposal,
    expire_proposal,
    quarantine_proposal,
    rebase_proposal,
    reject_proposal,
    release_proposal,
    reopen_proposal,
    request_revision,
    settle_proposal,
    snooze_proposal,
    undo_proposal,
    withdraw_proposal,
)
from apps.governance.proposals.approval_rules import ApprovalVerdict, ProposalBase
from apps.kill_switches.actions import activate_kill_switch, deactivate_kill_switch
from apps.kill_switches.models import KillSwitch
from apps.memory.actions import amend_block, amend_memory, amend_profile, approve_block, approve_memory, write_block
from apps.memory.line_dates import set_block_line_dates, set_memory_line_dates, set_profile_line_dates
from apps.memory.write_holds import MemoryReviewSplit, hold_for_review, propose_profile
from apps.personas.actions import (
    activate_persona,
    add_rule,
    amend_persona,
    amend_rule,
    archive_persona,
    create_persona,
    propose_patch,
    propose_rule_change,
    restore_rule,
    retire_rule,
    write_identity_card,
    write_overlay,
)
from apps.prompt.memory_lines.line_expiry import LineDates
from apps.prompt.text_reuse.derived_lines import NO_RECEIVED_TEXTS
from apps.restore.actions import make_checkpoint
from apps.review.skill_actions import approve_skill
from apps.skills.actions import (
    amend_skill,
    arrange_files,
    count_use,
    deprecate_skill,
    detach_file,
    discard_skill,
    draft_skill,
    redraft_skill,
    retain_skill,
    revise_skill,
)
from apps.skills.attachment_upload import upload_file
from apps.skills.proposals import propose_revision, submit_draft
from apps.skills.publication import unpublish_skill
from apps.skills.quarantine import quarantine_skill, release_skill
from apps.tenants.actions import (
    accept_membership,
    add_member,
    allow_invokable,
    amend_agent,
    amend_invokable,
    amend_settings,
    change_role,
    create_agent,
    create_tenant,
    deactivate_member,
    end_sessions,
    enter_tenant,
    invite_member,
    issue_token,
    leave_tenant,
    limit_member,
    reactivate_member,
    reset_member,
    revoke_token,
    rotate_token,
    unlimit_member,
    withdraw_grants,
    withdraw_invokable,
    withdraw_role_grants,
    write_grants,
    write_role_grants,
)
from apps.tenants.customer_verification import rotate_proof_key
from tests.governance.surfaces.desk_actions import DESK
from tests.support.factories.comments import COMMENT_ACTS
from tests.support.factories.contradictions import CONTRADICTION_ACTS
from tests.support.factories.endpoints import ENDPOINT_ACTS
from tests.support.factories.external_tools import TOOL_ACTS
from tests.support.factories.external_turns import EXTERNAL_AGENT_ACTS
from tests.support.factories.lessons import LEARNING_ACTS
from tests.support.factories.member_talks import TALK_ACTS
from tests.support.factories.memory_tiers import TIER_ACTS
from tests.support.factories.notes import NOTE_ACTS
from tests.support.factories.reports import REPORT_ACTS
from tests.support.factories.schedules import SCHEDULE_ACTS
from tests.support.servers.webhook_receiver import WEBHOOK_ACTS
from tests.support.worlds.lawful_acts import Scene

LINE_DATES = LineDates(datetime(2030, 1, 1, tzinfo=UTC))
WHOLE_TEXT_SHARE = MemoryReviewSplit("", Taint.AGENT, whole="New.")
RUNBOOK = {"title": "Greet", "description": "How to greet.", "body": "## Procedure\nSay hello."}
LINES = [ConversationLine("customer", "Hello"), ConversationLine("agent", "Hello!")]
GRANT_SYNC_REASON = "grants follow the policy by a command of the database's owner, who is no tenant's actor"


class Surface(Protocol):
    """One way in."""

    @property
    def name(self) -> str:
        """What people call it."""

    @property
    def roles(self) -> tuple[Role, ...]:
        """Who comes this way."""

    @property
    def not_offered(self) -> Mapping[Act, str]:
        """Acts it does not offer, each with the reason."""

    @property
    def not_for(self) -> Mapping[tuple[Act, Role], str]:
        """Acts whose request means another act to this role, each with the reason."""

    def perform(self, scene: Scene, role: Role) -> str:
        """Do the scene's act as its actor of this role; the refusal's code, empty if it was done."""


class ActionSurface:
    """Every other surface ends here."""

    name = "actions"
    roles = tuple(Role)
    not_offered: Mapping[Act, str] = {Act.GRANT_SYNC: GRANT_SYNC_REASON}
    not_for: Mapping[tuple[Act, Role], str] = {
        (Act.MESSAGE_SEND, Role.ADMIN): "only the person who took over writes; in the scene that is the operator",
        **{
            (act, Role.ADMIN): "whoever wrote it withdraws it; in the scene that is the operator"
            for act in (Act.COMMENT_WITHDRAW, Act.REPORT_WITHDRAW)
        },
        (Act.PROPOSAL_UNDO, Role.ADMIN): "whoever applied it undoes it; in the scene that is the operator",
        (Act.MEMBER_ACCEPT, Role.ADMIN): "everybody accepts their own; in the scene that is the operator's",
    }

    performed: ClassVar[Mapping[Act, Callable[[Scene, Any, Actor], object]]] = {
        Act.PERSONA_CREATE: lambda scene, _, actor: create_persona(
            scene.world.agent.pk, actor=actor, values={"style": "x"}
        ),
        Act.PERSONA_AMEND: lambda _, row, actor: amend_persona(row, actor=actor, values={"style": "Brief."}),
        Act.PERSONA_ARCHIVE: lambda _, row, actor: archive_persona(row, actor=actor),
        Act.PERSONA_ACTIVATE: lambda _, row, actor: activate_persona(row, actor=actor),
        Act.PERSONA_PROPOSE: lambda _, row, actor: propose_patch(row, actor=actor, text="Say hello first."),
        Act.OVERLAY_WRITE: lambda _, row, actor: write_overlay(row, actor=actor, text="Be brief."),
        Act.IDENTITY_CARD_WRITE: lambda _, row, actor: write_identity_card(
            row, actor=actor, values={"hours": "Never."}
        ),
        Act.RULE_ADD: lambda scene, _, actor: add_rule(scene.world.agent.pk, actor=actor, text="Be brief."),
        Act.RULE_AMEND: lambda _, row, actor: amend_rule(row, actor=actor, values={"text": "Be brief."}),
        Act.RULE_RETIRE: lambda _, row, actor: retire_rule(row, actor=actor),
        Act.RULE_RESTORE: lambda _, row, actor: restore_rule(row, actor=actor),
        Act.SKILL_DRAFT: lambda scene, _, actor: draft_skill(scene.world.agent.pk, actor=actor, values=RUNBOOK),
        Act.SKILL_AMEND: lambda _, row, actor: amend_skill(row, actor=actor, values={"body": "New."}),
        Act.SKILL_APPROVE: lambda _, row, actor: approve_skill(row, actor=actor, reviewed_sha256=row.content_sha256),
        Act.SKILL_DEPRECATE: lambda _, row, actor: deprecate_skill(row, actor=actor),
        Act.SKILL_REVISE: lambda _, row, actor: revise_skill(row, actor=actor, values={"body": "New."}),
        Act.SKILL_PROPOSE: lambda _, row, actor: propose_revision(row, actor=actor, values={"body": "New."}),
        Act.SKILL_DISCARD: lambda _, row, actor: discard_skill(row, actor=actor),
        Act.KILL_SWITCH_ACTIVATE: lambda _, __, actor: activate_kill_switch(
            KillSwitch.Kind.FREEZE_LEARNING, actor=actor, reason="Rest."
        ),
        Act.KILL_SWITCH_DEACTIVATE: lambda _, row, actor: deactivate_kill_switch(row, actor=actor),
        Act.SKILL_FETCH: lambda _, row, actor: count_use(row, actor=actor),
        Act.SKILL_ATTACH: lambda _, row, actor: upload_file(row, actor=actor, name="terms.txt", content=b"Pay first."),
        Act.SKILL_DETACH: lambda _, row, actor: detach_file(row, actor=actor, name="prices.csv"),
        Act.SKILL_ARRANGE: lambda _, row, actor: arrange_files(row, actor=actor, names=["terms.txt", "prices.csv"]),
        Act.MEMORY_AMEND: lambda _, row, actor: amend_memory(row, actor=actor, body="New.", heard=NO_RECEIVED_TEXTS),
        Act.MEMORY_APPROVE: lambda _, row, actor: approve_memory(row, actor=actor, read_at=row.version),
        Act.MEMORY_SET_LINE_DATES: lambda _, row, actor: set_memory_line_dates(
            row, actor=actor, line=row.body, dates=LINE_DATES
        ),
        Act.BLOCK_SET_LINE_DATES: lambda _, row, actor: set_block_line_dates(
            row, actor=actor, line=row.body, dates=LINE_DATES
        ),
        Act.PROFILE_SET_LINE_DATES: lambda _, row, actor: set_profile_line_dates(
            row, actor=actor, line=row.preferences, dates=LINE_DATES
        ),
        Act.MEMORY_PROPOSE: lambda _, row, actor: hold_for_review(row, WHOLE_TEXT_SHARE, actor=actor, evidence=None),
        Act.BLOCK_PROPOSE: lambda _, row, actor: hold_for_review(row, WHOLE_TEXT_SHARE, actor=actor, evidence=None),
        Act.PROFILE_PROPOSE: lambda _, row, actor: propose_profile(row, {"notes": "New."}, actor=actor, evidence=None),
        Act.SKILL_RETAIN: lambda _, row, actor: retain_skill(row, actor=actor, reason="Rare."),
        Act.SKILL_QUARANTINE: lambda _, row, actor: quarantine_skill(row, actor=actor, reason="Odd."),
        Act.SKILL_RELEASE: lambda _, row, actor: release_skill(row, actor=actor, reason="Read."),
        Act.BLOCK_WRITE: lambda _, row, actor: write_block(row, actor=actor, values={"label": "Facts"}),
        Act.BLOCK_AMEND: lambda _, row, actor: amend_block(row, actor=actor, heard=NO_RECEIVED_TEXTS, body="New."),
        Act.BLOCK_APPROVE: lambda _, row, actor: approve_block(row, actor=actor, read_at=row.version),
        Act.PROFILE_AMEND: lambda _, row, actor: amend_profile(row, actor=actor, values={"notes": "New."}),
        Act.CONVERSATION_OPEN: lambda scene, _, actor: open_conversation(
            scene.world.agent.pk, actor=actor, channel="http", conversation_key="matrix"
        ),
        Act.CONVERSATION_IMPORT: lambda scene, _, actor: import_conversation(
            scene.world.agent.pk, actor=actor, transcript_id="t", lines=LINES, outcome=Conversation.Outcome.SOLVED
        ),
        Act.CONVERSATION_RESOLVE: lambda _, row, actor: resolve_conversation(row, actor=actor),
        Act.CONVERSATION_ABANDON: lambda _, row, actor: abandon_conversation(row, actor=actor),
        Act.MESSAGE_RECEIVE: lambda scene, row, actor: receive_message(
            scene.world.agent.pk,
            actor=actor,
            channel=row.channel,
            conversation_key=row.conversation_key,
            text="Hello?",
            idempotency_key="matrix",
        ),
        **DESK,
        **TALK_ACTS,
        **EXTERNAL_AGENT_ACTS,
        **ENDPOINT_ACTS,
        **TIER_ACTS,
        **TOOL_ACTS,
        **SCHEDULE_ACTS,
        **COMMENT_ACTS,
        **REPORT_ACTS,
        **NOTE_ACTS,
        **WEBHOOK_ACTS,
        **LEARNING_ACTS,
        **CONTRADICTION_ACTS,
        Act.RULE_PROPOSE: lambda _, row, actor: propose_rule_change(row, actor=actor, text="Be brief."),
        Act.SKILL_REDRAFT: lambda _, row, actor: redraft_skill(
            row, actor=actor, values={"body": "## Procedure\n1. Ask."}
        ),
        Act.SKILL_UNDO: lambda _, row, actor: unpublish_skill(row, actor=actor, proposal=Proposal()),
        Act.PROPOSAL_SUBMIT: lambda _, row, actor: submit_draft(row, actor=actor),
        Act.PROPOSAL_APPROVE: lambda _, row, actor: approve_proposal(
            row, actor=actor, verdict=ApprovalVerdict(row.content_sha256, RiskTier.LOW)
        ),
        Act.PROPOSAL_UNDO: lambda _, row, actor: undo_proposal(row, actor=actor),
        Act.PROPOSAL_REOPEN: lambda _, row, actor: reopen_proposal(row, actor=actor),
        Act.PROPOSAL_SNOOZE: lambda _, row, actor: snooze_proposal(
            row, actor=actor, until=timezone.now() + timedelta(days=1)
        ),
        Act.PROPOSAL_CLAIM: lambda _, row, actor: claim_proposal(row, actor=actor),
        Act.PROPOSAL_REQUEST_REVISION: lambda _, row, actor: request_revision(row, actor=actor, words="Shorter."),
        Act.PROPOSAL_REBASE: lambda _, row, actor: rebase_proposal(row, actor=actor, base=ProposalBase(3, "0" * 64)),
        Act.PROPOSAL_QUARANTINE: lambda _, row, actor: quarantine_proposal(row, actor=actor, reason="Odd."),
        Act.PROPOSAL_RELEASE: lambda _, row, actor: release_proposal(row, actor=actor, reason="Fine."),
        Act.PROPOSAL_WITHDRAW: lambda _, row, actor: withdraw_proposal(row, actor=actor),
        Act.PROPOSAL_EXPIRE: lambda _, row, actor: expire_proposal(row, actor=actor),
        Act.PROPOSAL_REJECT: lambda _, row, actor: reject_proposal(row, actor=actor, reason="No."),
        Act.PROPOSAL_APPLY: lambda _, row, actor: settle_proposal(row, actor=actor),
        Act.TENANT_CREATE: lambda _, new, actor: create_tenant(
            f"matrix-{new.tenant_id}", "Matrix", actor=replace(actor, tenant_id=new.tenant_id)
        ),
        Act.TENANT_ENTER: lambda *given: enter_tenant("A ticket of theirs.", actor=given[-1]),
        Act.TENANT_LEAVE: lambda _, row, actor: leave_tenant(row, actor=actor),
        Act.SETTINGS_ROTATE_PROOF_KEY: lambda _, row, actor: rotate_proof_key(row, actor=actor, key="k" * 40),
        Act.SETTINGS_AMEND: lambda _, row, actor: amend_settings(row, actor=actor, timezone="Europe/Berlin"),
        Act.AGENT_CREATE: lambda *given: create_agent("sales", "Sales", actor=given[-1]),
        Act.AGENT_END_SESSIONS: lambda _, row, actor: end_sessions(row, actor=actor),
        Act.AGENT_AMEND: lambda _, row, actor: amend_agent(row, actor=actor, title="Changed"),
        Act.INVOKABLE_ALLOW: lambda scene, callee, actor: allow_invokable(
            scene.world.agent.pk, callee.pk, actor=actor, role_hint="Knows invoices."
        ),
        Act.INVOKABLE_AMEND: lambda _, row, actor: amend_invokable(row, actor=actor, role_hint="New."),
        Act.INVOKABLE_WITHDRAW: lambda _, row, actor: withdraw_invokable(row, actor=actor),
        Act.TOKEN_ISSUE: lambda _, row, actor: issue_token(row, actor=actor, name="matrix"),
        Act.TOKEN_REVOKE: lambda _, row, actor: revoke_token(row, actor=actor),
        Act.TOKEN_ROTATE: lambda _, row, actor: rotate_token(row, actor=actor),
        Act.MEMBER_ADD: lambda _, user, actor: add_member(user, actor=actor, role=Role.OPERATOR),
        Act.CHECKPOINT_CREATE: lambda scene, _, actor: make_checkpoint(
            "Before the sale", actor=actor, agent_id=scene.world.agent.pk
        ),
        Act.MEMBER_INVITE: lambda _, user, actor: invite_member(user, actor=actor, role=Role.OPERATOR),
        Act.MEMBER_ACCEPT: lambda _, row, actor: accept_membership(row, actor=actor),
        Act.MEMBER_DEACTIVATE: lambda _, row, actor: deactivate_member(row, actor=actor),
        Act.MEMBER_REACTIVATE: lambda _, row, actor: reactivate_member(row, actor=actor),
        Act.MEMBER_CHANGE_ROLE: lambda _, row, actor: change_role(row, actor=actor, role=Role.ADMIN),
        Act.MEMBER_RESET: lambda _, row, actor: reset_member(row, actor=actor),
        Act.LIMIT_WRITE: lambda scene, row, actor: limit_member(row, actor=actor, agents=[scene.world.agent.pk]),
        Act.LIMIT_LIFT: lambda _, row, actor: unlimit_member(row, actor=actor),
        Act.ROLE_GRANT_WRITE: lambda _, row, actor: write_role_grants(
            row, actor=actor, granted=["skill_draft"], reason="Too much."
        ),
        Act.ROLE_GRANT_WITHDRAW: lambda _, row, actor: withdraw_role_grants(row, actor=actor, reason="Enough."),
        Act.GRANT_WRITE: lambda _, row, actor: write_grants(row, actor=actor, granted=["skill_fetch"]),
        Act.GRANT_WITHDRAW: lambda _, row, actor: withdraw_grants(row, actor=actor),
    }

    def perform(self, scene: Scene, role: Role) -> str:
        """Call it."""
        try:
            self.performed[scene.act](scene, scene.subject, scene.actor_of(role))
        except GovernanceError as refusal:
            return refusal.code
        return ""
