"""REST as a way in: one request per act."""

import json
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.test.client import BOUNDARY, MULTIPART_CONTENT, encode_multipart

from apps.governance.actors import Role
from apps.governance.policy.policy_table import Act
from tests.governance.surfaces.base import GRANT_SYNC_REASON, RUNBOOK
from tests.governance.surfaces.desk_actions import DESK_REQUESTS
from tests.support.factories.comments import COMMENT_REQUESTS
from tests.support.factories.contradictions import CONTRADICTION_REQUESTS, SCAN_ONLY_ACTS
from tests.support.factories.endpoints import ENDPOINT_REQUESTS
from tests.support.factories.external_tools import TOOL_REQUESTS
from tests.support.factories.external_turns import EXTERNAL_AGENT_REQUESTS
from tests.support.factories.lessons import LEARNING_REQUESTS, WORKER_ONLY_ACTS
from tests.support.factories.memory_tiers import TIER_REQUESTS
from tests.support.factories.notes import NOTE_REQUESTS
from tests.support.factories.reports import REPORT_REQUESTS
from tests.support.factories.schedules import SCHEDULE_REQUESTS
from tests.support.servers.webhook_receiver import WEBHOOK_REQUESTS
from tests.support.worlds.lawful_acts import Scene

Request = tuple[str, str, dict[str, object] | bytes | None]

FILE = encode_multipart(BOUNDARY, {"file": SimpleUploadedFile("terms.txt", b"Pay first.")})


def proposal_request(verb: str, **body: object) -> Callable[[Scene, Any], Request]:
    return lambda _, row: ("POST", f"proposals/{row.pk}/{verb}", body)


# When a line ends.
DAY = "2030-01-01T00:00:00Z"


class RestSurface:
    """`/api/v1/`: agents by their token, people by their session. Platform staff have no way in here."""

    name = "REST"
    roles = (Role.OPERATOR, Role.ADMIN, Role.AGENT)
    not_offered: Mapping[Act, str] = {
        Act.GRANT_SYNC: GRANT_SYNC_REASON,
        Act.TIER_DISTIL: "the distiller stores what it made; TIER_RUN asks it to",
        Act.DRAFT_CREATE: "a turn makes a draft; nobody asks for one",
        Act.TOOL_APPROVAL_REQUEST: "a turn asks for the call it may not make by itself",
        Act.TOOL_APPROVAL_CONSUME: "a turn uses the yes up as it begins the call",
        Act.DRAFT_SUPERSEDE: "a later turn overtakes a draft",
        Act.PROPOSAL_SUBMIT: "a draft is submitted by being written",
        Act.PROPOSAL_APPLY: "an approval applies what enough people agreed to",
        Act.PROPOSAL_EXPIRE: "a sweep finds what ran out of time",
        Act.SKILL_REDRAFT: "a restore makes a deprecated skill a draft again",
        Act.SKILL_UNDO: "an approval is undone through its proposal",
        Act.CONVERSATION_OPEN: "a message opens its conversation; nobody opens one empty",
        Act.CONVERSATION_IMPORT: "transcripts come in by a command",
        Act.MEMORY_PROPOSE: "an agent's write proposes what is held; MEMORY_AMEND proves it",
        Act.BLOCK_PROPOSE: "an agent's write proposes what is held; BLOCK_AMEND proves it",
        Act.PROFILE_PROPOSE: "an agent's write proposes what is held; PROFILE_AMEND proves it",
        Act.TENANT_CREATE: "tenants are made by a command",
        Act.TENANT_ENTER: "platform staff enter by the console alone",
        Act.TENANT_LEAVE: "platform staff enter by the console alone",
        **WORKER_ONLY_ACTS,
        **SCAN_ONLY_ACTS,
        Act.CONVERSATION_PROVE: "a signed message proves its conversation",
        Act.CONVERSATION_ERASE: "a sweep finds what was said off the record",
        Act.CONVERSATION_DELEGATE: "an agent asks another one in a turn",
        Act.MEMBER_ADD: "members are added by a command",
        Act.MEMBER_ACCEPT: "an invitation is accepted by its link",
    }
    not_for: Mapping[tuple[Act, Role], str] = {
        (Act.MESSAGE_SEND, Role.ADMIN): "only the person who took over writes; in the scene that is the operator",
        (Act.SKILL_PROPOSE, Role.OPERATOR): "a person who edits an approved skill revises it",
        (Act.SKILL_PROPOSE, Role.ADMIN): "a person who edits an approved skill revises it",
        (Act.SKILL_FETCH, Role.OPERATOR): "a person who reads a skill does not use it",
        (Act.SKILL_FETCH, Role.ADMIN): "a person who reads a skill does not use it",
        (Act.BLOCK_AMEND, Role.OPERATOR): "a person who changes a block writes it",
        (Act.BLOCK_AMEND, Role.ADMIN): "a person who changes a block writes it",
        **{
            (act, Role.ADMIN): "whoever wrote it withdraws it; in the scene that is the operator"
            for act in (Act.COMMENT_WITHDRAW, Act.REPORT_WITHDRAW)
        },
        (Act.PROPOSAL_UNDO, Role.ADMIN): "whoever applied it undoes it; in the scene that is the operator",
        (
            Act.MEMBER_OVERLAY_WRITE,
            Role.AGENT,
        ): "an agent writes a member's words in their talk; no token of its reaches them",
        (Act.SKILL_REVISE, Role.AGENT): "the same request of an agent proposes; SKILL_PROPOSE proves it",
    }

    requested: ClassVar[Mapping[Act, Callable[[Scene, Any], Request]]] = {
        **DESK_REQUESTS,
        **ENDPOINT_REQUESTS,
        **TIER_REQUESTS,
        **TOOL_REQUESTS,
        **SCHEDULE_REQUESTS,
        **COMMENT_REQUESTS,
        **REPORT_REQUESTS,
        **NOTE_REQUESTS,
        **WEBHOOK_REQUESTS,
        **LEARNING_REQUESTS,
        **CONTRADICTION_REQUESTS,
        **EXTERNAL_AGENT_REQUESTS,
        Act.SETTINGS_AMEND: lambda _, row: ("PATCH", f"settings/{row.pk}", {"timezone": "Europe/Berlin"}),
        Act.SETTINGS_ROTATE_PROOF_KEY: lambda _, row: (
            "POST",
            f"settings/{row.pk}/rotate-proof-key",
            {"key": "k" * 40},
        ),
        Act.CHECKPOINT_CREATE: lambda _, __: ("POST", "checkpoints", {"name": "Before the sale"}),
        Act.MEMBER_INVITE: lambda _, user: ("POST", "members", {"email": user.username, "role": "operator"}),
        Act.MEMBER_DEACTIVATE: lambda _, row: ("POST", f"members/{row.pk}/deactivate", {}),
        Act.MEMBER_REACTIVATE: lambda _, row: ("POST", f"members/{row.pk}/reactivate", {}),
        Act.MEMBER_CHANGE_ROLE: lambda _, row: ("PATCH", f"members/{row.pk}", {"role": "admin"}),
        Act.MEMBER_RESET: lambda _, row: ("POST", f"members/{row.pk}/reset", {}),
        Act.LIMIT_WRITE: lambda scene, row: ("PATCH", f"limits/{row.pk}", {"agent_ids": [scene.world.agent.pk]}),
        Act.LIMIT_LIFT: lambda _, row: ("DELETE", f"limits/{row.pk}", None),
        Act.TOKEN_ISSUE: lambda _, row: ("POST", "tokens", {"agent_key": row.key, "name": "matrix"}),
        Act.TOKEN_REVOKE: lambda _, row: ("POST", f"tokens/{row.pk}/revoke", {}),
        Act.TOKEN_ROTATE: lambda _, row: ("POST", f"tokens/{row.pk}/rotate", {}),
        Act.ROLE_GRANT_WRITE: lambda _, row: (
            "PATCH",
            f"role-grants/{row.pk}",
            {"permissions": ["skill_draft"], "reason": "Too much."},
        ),
        Act.ROLE_GRANT_WITHDRAW: lambda _, row: ("POST", f"role-grants/{row.pk}/withdraw", {"reason": "Enough."}),
        Act.GRANT_WRITE: lambda _, row: ("PATCH", f"grants/{row.pk}", {"permissions": ["skill_fetch"]}),
        Act.GRANT_WITHDRAW: lambda _, row: ("DELETE", f"grants/{row.pk}", None),
        Act.AGENT_CREATE: lambda _, __: ("POST", "agents", {"agent_key": "sales", "title": "Sales"}),
        Act.AGENT_END_SESSIONS: lambda _, row: ("POST", f"agents/{row.pk}/end-sessions", {}),
        Act.AGENT_AMEND: lambda _, row: ("PATCH", f"agents/{row.pk}", {"title": "Changed"}),
        Act.PERSONA_CREATE: lambda scene, _: ("POST", "personas", {"agent_key": scene.world.agent.key, "style": "x"}),
        Act.PERSONA_AMEND: lambda _, row: ("PATCH", f"personas/{row.pk}", {"style": "Brief."}),
        Act.PERSONA_ARCHIVE: lambda _, row: ("DELETE", f"personas/{row.pk}", None),
        Act.PERSONA_ACTIVATE: lambda _, row: ("PATCH", f"personas/{row.pk}", {"status": "active"}),
        Act.PERSONA_PROPOSE: lambda _, row: ("PATCH", f"personas/{row.pk}", {"proposed_patch": "Say hello."}),
        Act.OVERLAY_WRITE: lambda _, row: ("PATCH", f"overlays/{row.pk}", {"text": "Be brief."}),
        Act.IDENTITY_CARD_WRITE: lambda _, row: ("PATCH", f"identity-cards/{row.pk}", {"hours": "Never."}),
        Act.INVOKABLE_ALLOW: lambda scene, callee: (
            "POST",
            "invokables",
            {"agent_key": scene.world.agent.key, "callee_key": callee.key, "role_hint": "Knows invoices."},
        ),
        Act.INVOKABLE_AMEND: lambda _, row: ("PATCH", f"invokables/{row.pk}", {"role_hint": "New."}),
        Act.INVOKABLE_WITHDRAW: lambda _, row: ("DELETE", f"invokables/{row.pk}", None),
        Act.RULE_ADD: lambda scene, _: ("POST", "rules", {"agent_key": scene.world.agent.key, "text": "Be brief."}),
        Act.RULE_AMEND: lambda _, row: ("PATCH", f"rules/{row.pk}", {"text": "Be brief."}),
        Act.RULE_RETIRE: lambda _, row: ("DELETE", f"rules/{row.pk}", None),
        Act.RULE_RESTORE: lambda _, row: ("PATCH", f"rules/{row.pk}", {"status": "active"}),
        Act.SKILL_DRAFT: lambda scene, _: ("POST", "skills", {"agent_key": scene.world.agent.key, **RUNBOOK}),
        Act.SKILL_AMEND: lambda _, row: ("PATCH", f"skills/{row.pk}", {"body": "New."}),
        Act.SKILL_APPROVE: lambda _, row: (
            "POST",
            f"skills/{row.pk}/transition",
            {"to": "approved", "reviewed_sha256": row.content_sha256},
        ),
        Act.SKILL_RETAIN: lambda _, row: ("POST", f"skills/{row.pk}/retain", {"reason": "Rare."}),
        Act.SKILL_QUARANTINE: lambda _, row: ("POST", f"skills/{row.pk}/quarantine", {"reason": "Odd."}),
        Act.SKILL_RELEASE: lambda _, row: ("POST", f"skills/{row.pk}/release", {"reason": "Read."}),
        Act.SKILL_DEPRECATE: lambda _, row: ("POST", f"skills/{row.pk}/transition", {"to": "deprecated"}),
        Act.SKILL_REVISE: lambda _, row: ("PATCH", f"skills/{row.pk}", {"body": "New."}),
        Act.SKILL_PROPOSE: lambda _, row: ("PATCH", f"skills/{row.pk}", {"body": "New."}),
        Act.SKILL_DISCARD: lambda _, row: ("DELETE", f"skills/{row.pk}", None),
        Act.KILL_SWITCH_ACTIVATE: lambda _, __: ("POST", "switches", {"kind": "freeze-learning", "reason": "Rest."}),
        Act.KILL_SWITCH_DEACTIVATE: lambda _, row: ("POST", f"switches/{row.pk}/deactivate", {"version": row.version}),
        Act.SKILL_FETCH: lambda _, row: ("GET", f"skills/{row.pk}", None),
        Act.SKILL_ATTACH: lambda _, row: ("POST", f"skills/{row.pk}/attachments", FILE),
        Act.SKILL_DETACH: lambda _, row: ("DELETE", f"skills/{row.pk}/attachments/prices.csv", None),
        Act.SKILL_ARRANGE: lambda _, row: (
            "PATCH",
            f"skills/{row.pk}/attachments",
            {"names": ["terms.txt", "prices.csv"]},
        ),
        Act.MEMORY_SET_LINE_DATES: lambda _, row: (
            "POST",
            f"memories/{row.pk}/set-line-dates",
            {"line": row.body, "valid_until": DAY},
        ),
        Act.BLOCK_SET_LINE_DATES: lambda _, row: (
            "POST",
            f"memory-blocks/{row.pk}/set-line-dates",
            {"line": row.body, "valid_until": DAY},
        ),
        Act.PROFILE_SET_LINE_DATES: lambda _, row: (
            "POST",
            f"profiles/{row.pk}/set-line-dates",
            {"line": row.preferences, "valid_until": DAY},
        ),
        Act.MEMORY_APPROVE: lambda _, row: ("POST", f"memories/{row.pk}/approve", {"version": row.version}),
        Act.BLOCK_APPROVE: lambda _, row: ("POST", f"memory-blocks/{row.pk}/approve", {"version": row.version}),
        Act.MEMORY_AMEND: lambda _, row: ("PATCH", f"memories/{row.pk}", {"body": "New."}),
        Act.BLOCK_WRITE: lambda _, row: ("PATCH", f"memory-blocks/{row.pk}", {"label": "Facts"}),
        Act.BLOCK_AMEND: lambda _, row: ("PATCH", f"memory-blocks/{row.pk}", {"body": "New."}),
        Act.PROFILE_AMEND: lambda _, row: ("PATCH", f"profiles/{row.pk}", {"notes": "New."}),
        Act.CONVERSATION_TALK: lambda _, row: ("POST", "talks", {"agent_key": row.key}),
        Act.MEMBER_OVERLAY_WRITE: lambda _, row: (
            "POST",
            "member-overlays",
            {"agent_key": row.key, "text": "Be brief."},
        ),
        Act.CONVERSATION_RESOLVE: lambda _, row: ("PATCH", f"conversations/{row.pk}", {"status": "resolved"}),
        Act.CONVERSATION_ABANDON: lambda _, row: ("PATCH", f"conversations/{row.pk}", {"status": "abandoned"}),
        Act.MESSAGE_RECEIVE: lambda scene, row: (
            "POST",
            "messages",
            {
                "agent_key": scene.world.agent.key,
                "channel": row.channel,
                "conversation_key": row.conversation_key,
                "text": "Hello?",
                "idempotency_key": "matrix",
            },
        ),
        Act.PROPOSAL_APPROVE: lambda _, row: (
            "POST",
            f"proposals/{row.pk}/approve",
            {"reviewed_sha256": row.content_sha256},
        ),
        Act.PROPOSAL_REJECT: proposal_request("reject", reason_code="wrong", reason="No."),
        Act.PROPOSAL_UNDO: proposal_request("undo"),
        Act.PROPOSAL_REOPEN: proposal_request("reopen"),
        Act.PROPOSAL_SNOOZE: proposal_request("snooze", until="2999-01-01T00:00:00Z"),
        Act.PROPOSAL_CLAIM: proposal_request("claim"),
        Act.PROPOSAL_REQUEST_REVISION: proposal_request("request-revision", revision_request="Shorter."),
        Act.PROPOSAL_REBASE: proposal_request("rebase"),
        Act.PROPOSAL_QUARANTINE: proposal_request("quarantine", reason="Odd."),
        Act.PROPOSAL_RELEASE: proposal_request("release", reason="Fine."),
        Act.PROPOSAL_WITHDRAW: lambda _, row: ("DELETE", f"proposals/{row.pk}", None),
        Act.RULE_PROPOSE: lambda _, row: (
            "POST",
            "proposals",
            {"kind": "rule.change", "target_id": row.pk, "content": {"text": "Be brief."}},
        ),
    }

    def perform(self, scene: Scene, role: Role) -> str:
        """Send it."""
        method, path, body = self.requested[scene.act](scene, scene.subject)
        if isinstance(body, bytes):
            answer = self._client(scene, role).generic(method, f"/api/v1/{path}", body, MULTIPART_CONTENT)
        else:
            content = "" if body is None else json.dumps(body)
            answer = self._client(scene, role).generic(method, f"/api/v1/{path}", content, "application/json")
        return "" if answer.status_code < 300 else str(answer.json()["code"])

    def _client(self, scene: Scene, role: Role) -> Client:
        if role is Role.AGENT:
            return Client(headers={"Authorization": f"Bearer {scene.world.token}"})
        client = Client()
        client.force_login(scene.world.admin_user if role is Role.ADMIN else scene.world.operator_user)
        return client
