"""The console as a way in: one form per act."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from apps.console.framework.request_context import VISIT_KEY
from apps.governance.actors import Role
from apps.governance.policy.policy_table import Act
from apps.personas.models import CARD_FIELDS, SECTIONS
from tests.governance.surfaces.base import GRANT_SYNC_REASON, RUNBOOK
from tests.governance.surfaces.desk_actions import DESK_FORMS
from tests.support.drivers.console_client import decision_of, page_of
from tests.support.factories.comments import COMMENT_FORMS
from tests.support.factories.contradictions import CONTRADICTION_FORMS, SCAN_ONLY_ACTS
from tests.support.factories.endpoints import ENDPOINT_FORMS
from tests.support.factories.external_tools import TOOL_FORMS
from tests.support.factories.lessons import LEARNING_FORMS, WORKER_ONLY_ACTS
from tests.support.factories.memory_tiers import TIER_FORMS
from tests.support.factories.notes import NOTE_FORMS
from tests.support.factories.reports import REPORT_FORMS
from tests.support.factories.schedules import SCHEDULE_FORMS
from tests.support.servers.webhook_receiver import WEBHOOK_FORMS
from tests.support.worlds.lawful_acts import Scene

Form = tuple[str, dict[str, Any]]  # Any: whatever a form field takes

TEXTS = ("name", "title", "description", "category", "body")
AGENT_SETTINGS = (
    *("model", "contract", "session_idle_seconds", "max_session_age_seconds", "max_steps"),
    *("flavour", "context_tier", "skill_index", "send_mode", "debounce_seconds", "mid_turn_message_mode"),
    "fallback_model",
    "turn_budget_micro_usd",
    *("delay_notice", "channel_delay_notices"),
)
CHOICES = (
    *("timezone", "ai_disclosure", "slot_order", "memory_review", "learning_apply_mode"),
    *("high_risk_reviewers", "proposal_days", "max_open_proposals", "day_budget_micro_usd"),
    "pii_patterns",
    *("messages_per_minute", "messages_per_day"),
    *("requests_per_minute", "requests_per_minute_of_tenant"),
)
AGENT_ONLY_REASON = "an agent does this; a person changes the row itself"


def decision(button: str, /, **typed: str) -> Callable[[Scene, Any], Form]:
    return lambda _, row: (decision_of(row, button), typed)


def edit(*fields: str, **typed: str) -> Callable[[Scene, Any], Form]:
    def form(_: Scene, row: Any) -> Form:
        shown = {name: getattr(row, name) for name in fields}
        return page_of(row), {name: value for name, value in shown.items() if value is not None} | typed

    return form


def add(page: str, /, **typed: str) -> Callable[[Scene, Any], Form]:
    return lambda scene, _: (reverse(f"admin:{page}_add"), {"agent": scene.world.agent.pk, **typed})


class ConsoleSurface:
    """The admin site: people by their session."""

    name = "console"
    roles = (Role.OPERATOR, Role.ADMIN, Role.STAFF)
    not_offered: Mapping[Act, str] = {
        Act.GRANT_SYNC: GRANT_SYNC_REASON,
        **WORKER_ONLY_ACTS,
        **SCAN_ONLY_ACTS,
        Act.TIER_DISTIL: "the distiller stores what it made; TIER_RUN asks it to",
        Act.DRAFT_CREATE: "a turn makes a draft; nobody asks for one",
        Act.TOOL_APPROVAL_REQUEST: "a turn asks for the call it may not make by itself",
        Act.TOOL_APPROVAL_CONSUME: "a turn uses the yes up as it begins the call",
        Act.CONVERSATION_PROVE: "a signed message proves its conversation",
        Act.CONVERSATION_RATE: "customers rate, by their agent's token",
        Act.CONVERSATION_ERASE: "a sweep finds what was said off the record",
        Act.CONVERSATION_DELEGATE: "an agent asks another one in a turn",
        Act.DRAFT_SUPERSEDE: "a later turn overtakes a draft",
        Act.ESCALATION_OPEN: "an agent hands a question over; people ask each other",
        Act.PERSONA_PROPOSE: AGENT_ONLY_REASON,
        Act.SKILL_PROPOSE: AGENT_ONLY_REASON,
        Act.SKILL_FETCH: AGENT_ONLY_REASON,
        Act.RULE_PROPOSE: AGENT_ONLY_REASON,
        Act.PROPOSAL_SUBMIT: "a draft is submitted by being written",
        Act.PROPOSAL_APPLY: "an approval applies what enough people agreed to",
        Act.PROPOSAL_EXPIRE: "a sweep finds what ran out of time",
        Act.SKILL_REDRAFT: "a restore makes a deprecated skill a draft again",
        Act.SKILL_UNDO: "an approval is undone through its proposal",
        Act.BLOCK_AMEND: AGENT_ONLY_REASON,
        Act.MEMORY_PROPOSE: AGENT_ONLY_REASON,
        Act.BLOCK_PROPOSE: AGENT_ONLY_REASON,
        Act.PROFILE_PROPOSE: AGENT_ONLY_REASON,
        Act.CONVERSATION_OPEN: "a message opens its conversation; nobody opens one empty",
        Act.CONVERSATION_TALK: "its page stands beside the declarations; test_assistant proves it",
        Act.MEMBER_OVERLAY_WRITE: "its page stands beside the declarations; test_assistant proves it",
        Act.CONVERSATION_IMPORT: "transcripts come in by a command",
        Act.MESSAGE_RECEIVE: "messages come in by REST",
        Act.SESSION_OPEN: "agents that run elsewhere open sessions by their token",
        Act.TURN_REPORT: "agents that run elsewhere report their turns by their token",
        Act.TENANT_CREATE: "tenants are made by a command",
        Act.TENANT_ENTER: "a missing right must read like an unknown key; test_visits_of_staff proves it",
        Act.TENANT_LEAVE: "without a visit there is nothing to leave; test_visits_of_staff proves it",
        Act.MEMBER_ACCEPT: "its link is followed by whoever is nobody here yet; test_invitations proves it",
        Act.MEMBER_ADD: "members are invited here; the bare act is the command's",
    }
    not_for: Mapping[tuple[Act, Role], str] = {
        (Act.MESSAGE_SEND, Role.ADMIN): "only the person who took over writes; in the scene that is the operator",
        **{
            (act, Role.ADMIN): "whoever wrote it withdraws it; in the scene that is the operator"
            for act in (Act.COMMENT_WITHDRAW, Act.REPORT_WITHDRAW)
        },
        (Act.PROPOSAL_UNDO, Role.ADMIN): "whoever applied it undoes it; in the scene that is the operator",
    }

    sent: ClassVar[Mapping[Act, Callable[[Scene, Any], Form]]] = {
        **DESK_FORMS,
        **ENDPOINT_FORMS,
        **TIER_FORMS,
        **TOOL_FORMS,
        **SCHEDULE_FORMS,
        **COMMENT_FORMS,
        **REPORT_FORMS,
        **NOTE_FORMS,
        **WEBHOOK_FORMS,
        **LEARNING_FORMS,
        **CONTRADICTION_FORMS,
        Act.PERSONA_CREATE: add("personas_persona", identity="You are Ada."),
        Act.PERSONA_AMEND: edit(*SECTIONS, style="Brief."),
        Act.PERSONA_ARCHIVE: decision("archive"),
        Act.PERSONA_ACTIVATE: decision("activate"),
        Act.OVERLAY_WRITE: edit("text", text="Be brief."),
        Act.IDENTITY_CARD_WRITE: edit(*CARD_FIELDS, hours="Never."),
        Act.RULE_ADD: add("personas_standingrule", text="Be brief.", position="0"),
        Act.RULE_AMEND: edit("text", "position", text="Be brief."),
        Act.RULE_RETIRE: decision("retire"),
        Act.RULE_RESTORE: decision("restore"),
        Act.SKILL_DRAFT: add("skills_skill", name="greet", **RUNBOOK),
        Act.SKILL_AMEND: edit(*TEXTS, body="New."),
        Act.SKILL_REVISE: edit(*TEXTS, body="New."),
        Act.SKILL_APPROVE: lambda _, row: (decision_of(row, "approve"), {"reviewed_sha256": row.content_sha256}),
        Act.SKILL_DEPRECATE: decision("deprecate", reason="Nobody uses it."),
        Act.SKILL_DISCARD: decision("discard"),
        Act.SKILL_ATTACH: lambda _, row: (
            reverse("admin:upload_file", args=[row.pk]),
            {"file": SimpleUploadedFile("terms.txt", b"Pay first.")},
        ),
        Act.SKILL_DETACH: decision("detach", name="prices.csv"),
        Act.SKILL_ARRANGE: decision("arrange", name="terms.txt"),
        Act.SKILL_RETAIN: decision("keep", reason="Rare."),
        Act.SKILL_QUARANTINE: decision("quarantine", reason="Odd."),
        Act.SKILL_RELEASE: decision("release", reason="Read."),
        Act.MEMORY_AMEND: edit("body", body="New."),
        Act.MEMORY_APPROVE: decision("approve"),
        Act.MEMORY_SET_LINE_DATES: decision("date", line="Most customers are in the EU.", last_day="2030-01-01"),
        Act.BLOCK_SET_LINE_DATES: decision("date", line="We ship to the EU only.", last_day="2030-01-01"),
        Act.BLOCK_APPROVE: decision("approve"),
        Act.BLOCK_WRITE: edit("label", "body", body="New."),
        Act.PROFILE_SET_LINE_DATES: decision("date", line="Prefers email.", last_day="2030-01-01"),
        Act.PROFILE_AMEND: edit("preferences", "notes", notes="New."),
        Act.CONVERSATION_RESOLVE: decision("resolve", outcome="solved"),
        Act.CONVERSATION_ABANDON: decision("abandon"),
        Act.PROPOSAL_APPROVE: lambda _, row: (decision_of(row, "approve"), {"reviewed_sha256": row.content_sha256}),
        Act.PROPOSAL_REJECT: decision("reject", reason_code="wrong", reason="No."),
        Act.PROPOSAL_UNDO: decision("undo"),
        Act.PROPOSAL_REOPEN: decision("reopen"),
        Act.PROPOSAL_SNOOZE: decision("snooze", days="1"),
        Act.PROPOSAL_CLAIM: decision("claim"),
        Act.PROPOSAL_REQUEST_REVISION: decision("ask", reason="Shorter."),
        Act.PROPOSAL_REBASE: decision("rebase"),
        Act.PROPOSAL_QUARANTINE: decision("quarantine", reason="Odd."),
        Act.PROPOSAL_RELEASE: decision("release", reason="Fine."),
        Act.PROPOSAL_WITHDRAW: decision("withdraw"),
        Act.AGENT_CREATE: add("tenants_agent", key="sales", title="Sales", has_learning="on"),
        Act.SETTINGS_ROTATE_PROOF_KEY: decision("proof_key", key="k" * 40),
        Act.SETTINGS_AMEND: edit(*CHOICES, timezone="Europe/Berlin"),
        Act.AGENT_END_SESSIONS: decision("end_sessions"),
        Act.AGENT_AMEND: edit(
            *AGENT_SETTINGS,
            title="Changed",
            has_learning="on",
            has_current_time="on",
            may_propose_schedules="on",
            may_show_tables_and_charts="on",
            may_edit_memory="on",
            may_edit_skills="on",
            has_reflection="on",
            has_notebook="on",
            has_examples="on",
        ),
        Act.INVOKABLE_ALLOW: lambda scene, callee: (
            reverse("admin:tenants_invokableagent_add"),
            {"agent": scene.world.agent.pk, "callee": callee.pk, "role_hint": "Knows invoices."},
        ),
        Act.INVOKABLE_AMEND: edit("role_hint", role_hint="New."),
        Act.INVOKABLE_WITHDRAW: decision("withdraw"),
        Act.KILL_SWITCH_ACTIVATE: add("kill_switches_killswitch", agent="", kind="freeze-learning", reason="Rest."),
        Act.KILL_SWITCH_DEACTIVATE: decision("lift"),
        Act.CHECKPOINT_CREATE: add("restore_checkpoint", name="Before the sale"),
        Act.MEMBER_INVITE: lambda _, user: (
            reverse("admin:tenants_membership_add"),
            {"email": user.username, "role": "operator"},
        ),
        Act.MEMBER_DEACTIVATE: decision("deactivate"),
        Act.MEMBER_REACTIVATE: decision("reactivate"),
        Act.MEMBER_CHANGE_ROLE: decision("role", role="admin"),
        Act.MEMBER_RESET: decision("reset"),
        Act.LIMIT_WRITE: lambda scene, row: (page_of(row), {"agent_ids": [scene.world.agent.pk]}),
        Act.LIMIT_LIFT: decision("lift"),
        Act.ROLE_GRANT_WRITE: lambda _, row: (
            page_of(row),
            {"permissions": ["skill_draft"], "reason": "Too much."},
        ),
        Act.ROLE_GRANT_WITHDRAW: decision("withdraw", reason="Enough."),
        Act.GRANT_WRITE: lambda _, row: (page_of(row), {"permissions": ["skill_fetch"]}),
        Act.GRANT_WITHDRAW: decision("withdraw"),
        Act.TOKEN_ISSUE: decision("issue", name="matrix", valid_days="90"),
        Act.TOKEN_REVOKE: decision("revoke"),
        Act.TOKEN_ROTATE: decision("rotate"),
    }

    def perform(self, scene: Scene, role: Role) -> str:
        """Send the form as it stands on the page."""
        path, typed = self.sent[scene.act](scene, scene.subject)
        client = Client()
        users = {Role.ADMIN: scene.world.admin_user, Role.STAFF: scene.staff_user}
        client.force_login(users.get(role, scene.world.operator_user))
        if scene.visit is not None:
            session = client.session
            session[VISIT_KEY] = [scene.visit.tenant_id, scene.visit.pk]
            session.save()
        answer = client.post(path, {"read_at": getattr(scene.subject, "version", ""), **typed})
        codes = {403: "not_permitted", 404: "not_found"}
        return "" if answer.status_code < 400 else codes.get(answer.status_code, f"status {answer.status_code}")
