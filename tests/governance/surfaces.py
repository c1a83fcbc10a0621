"""The ways in: the actions themselves, REST, the console. Each says which acts it offers, and why not the others."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, ClassVar, Protocol

from django.test import Client

from apps.conversations.actions import (
    abandon_conversation,
    import_conversation,
    open_conversation,
    receive_message,
    resolve_conversation,
)
from apps.conversations.models import Conversation
from apps.conversations.rules import Line
from apps.governance.actions import reject_proposal, settle_proposal
from apps.governance.actors import Actor, Role
from apps.governance.errors import GovernanceError
from apps.governance.models import Proposal
from apps.governance.policy import Act
from apps.memory.actions import amend_memory, amend_profile
from apps.personas.actions import activate_persona, amend_persona, archive_persona, create_persona, propose_patch
from apps.skills.actions import (
    amend_skill,
    approve_skill,
    count_use,
    deprecate_skill,
    discard_skill,
    draft_skill,
    propose_revision,
    revise_skill,
)
from apps.tenants.actions import (
    add_member,
    amend_agent,
    create_agent,
    create_tenant,
    issue_token,
    revoke_token,
    rotate_token,
)
from tests.governance.scenes import Scene

RUNBOOK = {"title": "Greet", "description": "How to greet.", "body": "## Procedure\nSay hello."}
THREAD = {"channel": "http", "conversation_key": "matrix"}
LINES = [Line("customer", "Hello"), Line("agent", "Hello!")]
SYNCS = "grants follow the policy by a command of the database's owner, who is no tenant's actor"


class Surface(Protocol):
    """One way in."""

    name: str
    roles: tuple[Role, ...]
    not_offered: Mapping[Act, str]
    not_for: Mapping[tuple[Act, Role], str]

    def perform(self, scene: Scene, role: Role) -> str:
        """Do the scene's act as its actor of this role; the refusal's code, empty if it was done."""


class Actions:
    """Every other surface ends here."""

    name = "actions"
    roles = tuple(Role)
    not_offered: Mapping[Act, str] = {Act.GRANT_SYNC: SYNCS}
    not_for: Mapping[tuple[Act, Role], str] = {}

    performed: ClassVar[Mapping[Act, Callable[[Scene, Any, Actor], object]]] = {
        Act.PERSONA_CREATE: lambda scene, _, actor: create_persona(
            scene.world.agent.pk, actor=actor, values={"style": "x"}
        ),
        Act.PERSONA_AMEND: lambda _, row, actor: amend_persona(row, actor=actor, values={"style": "Brief."}),
        Act.PERSONA_ARCHIVE: lambda _, row, actor: archive_persona(row, actor=actor),
        Act.PERSONA_ACTIVATE: lambda _, row, actor: activate_persona(row, actor=actor),
        Act.PERSONA_PROPOSE: lambda _, row, actor: propose_patch(row, actor=actor, text="Say hello first."),
        Act.SKILL_DRAFT: lambda scene, _, actor: draft_skill(scene.world.agent.pk, actor=actor, values=RUNBOOK),
        Act.SKILL_AMEND: lambda _, row, actor: amend_skill(row, actor=actor, values={"body": "New."}),
        Act.SKILL_APPROVE: lambda _, row, actor: approve_skill(row, actor=actor, reviewed_sha256=row.content_sha256),
        Act.SKILL_DEPRECATE: lambda _, row, actor: deprecate_skill(row, actor=actor),
        Act.SKILL_REVISE: lambda _, row, actor: revise_skill(row, actor=actor, values={"body": "New."}),
        Act.SKILL_PROPOSE: lambda _, row, actor: propose_revision(row, actor=actor, values={"body": "New."}),
        Act.SKILL_DISCARD: lambda _, row, actor: discard_skill(row, actor=actor),
        Act.SKILL_FETCH: lambda _, row, actor: count_use(row, actor=actor),
        Act.MEMORY_AMEND: lambda _, row, actor: amend_memory(row, actor=actor, body="New."),
        Act.PROFILE_AMEND: lambda _, row, actor: amend_profile(row, actor=actor, values={"notes": "New."}),
        Act.CONVERSATION_OPEN: lambda scene, _, actor: open_conversation(scene.world.agent.pk, actor=actor, **THREAD),
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
        Act.PROPOSAL_REJECT: lambda _, row, actor: reject_proposal(row, actor=actor, reason="No."),
        Act.PROPOSAL_APPLY: lambda _, row, actor: settle_proposal(row, actor=actor),
        Act.TENANT_CREATE: lambda _, new, actor: create_tenant(
            f"matrix-{new.tenant_id}", "Matrix", actor=replace(actor, tenant_id=new.tenant_id)
        ),
        Act.AGENT_CREATE: lambda _, nothing, actor: create_agent("sales", "Sales", actor=actor),
        Act.AGENT_AMEND: lambda _, row, actor: amend_agent(row, actor=actor, title="Changed"),
        Act.TOKEN_ISSUE: lambda _, row, actor: issue_token(row, actor=actor, name="matrix"),
        Act.TOKEN_REVOKE: lambda _, row, actor: revoke_token(row, actor=actor),
        Act.TOKEN_ROTATE: lambda _, row, actor: rotate_token(row, actor=actor),
        Act.MEMBER_ADD: lambda _, user, actor: add_member(user, actor=actor, role=Role.OPERATOR),
    }

    def perform(self, scene: Scene, role: Role) -> str:
        """Call it."""
        try:
            self.performed[scene.act](scene, scene.subject, scene.actor_of(role))
        except GovernanceError as refusal:
            return refusal.code
        return ""


Request = tuple[str, str, dict[str, object] | None]


class Rest:
    """`/api/v1/`: agents by their token, people by their session."""

    name = "REST"
    roles = (Role.OPERATOR, Role.ADMIN, Role.AGENT)
    not_offered: Mapping[Act, str] = {
        Act.GRANT_SYNC: SYNCS,
        Act.CONVERSATION_OPEN: "a message opens its conversation; nobody opens one empty",
        Act.CONVERSATION_IMPORT: "transcripts come in by a command",
        Act.TENANT_CREATE: "tenants are made by a command",
        Act.AGENT_CREATE: "agents are made in the console",
        Act.AGENT_AMEND: "agents are changed in the console",
        Act.TOKEN_ISSUE: "a token's secret is shown once, in the console",
        Act.TOKEN_REVOKE: "tokens are revoked in the console",
        Act.TOKEN_ROTATE: "tokens are rotated in the console",
        Act.MEMBER_ADD: "members are added in the console or by a command",
    }
    not_for: Mapping[tuple[Act, Role], str] = {
        (Act.SKILL_PROPOSE, Role.OPERATOR): "a person who edits an approved skill revises it",
        (Act.SKILL_PROPOSE, Role.ADMIN): "a person who edits an approved skill revises it",
        (Act.SKILL_FETCH, Role.OPERATOR): "a person who reads a skill does not use it",
        (Act.SKILL_FETCH, Role.ADMIN): "a person who reads a skill does not use it",
        (Act.SKILL_REVISE, Role.AGENT): "the same request of an agent proposes; SKILL_PROPOSE proves it",
    }

    requested: ClassVar[Mapping[Act, Callable[[Scene, Any], Request]]] = {
        Act.PERSONA_CREATE: lambda scene, _: ("POST", "personas", {"agent_key": scene.world.agent.key, "style": "x"}),
        Act.PERSONA_AMEND: lambda _, row: ("PATCH", f"personas/{row.pk}", {"style": "Brief."}),
        Act.PERSONA_ARCHIVE: lambda _, row: ("DELETE", f"personas/{row.pk}", None),
        Act.PERSONA_ACTIVATE: lambda _, row: ("PATCH", f"personas/{row.pk}", {"status": "active"}),
        Act.PERSONA_PROPOSE: lambda _, row: ("PATCH", f"personas/{row.pk}", {"proposed_patch": "Say hello."}),
        Act.SKILL_DRAFT: lambda scene, _: ("POST", "skills", {"agent_key": scene.world.agent.key, **RUNBOOK}),
        Act.SKILL_AMEND: lambda _, row: ("PATCH", f"skills/{row.pk}", {"body": "New."}),
        Act.SKILL_APPROVE: lambda _, row: (
            "POST",
            f"skills/{row.pk}/transition",
            {"to": "approved", "reviewed_sha256": row.content_sha256},
        ),
        Act.SKILL_DEPRECATE: lambda _, row: ("POST", f"skills/{row.pk}/transition", {"to": "deprecated"}),
        Act.SKILL_REVISE: lambda _, row: ("PATCH", f"skills/{row.pk}", {"body": "New."}),
        Act.SKILL_PROPOSE: lambda _, row: ("PATCH", f"skills/{row.pk}", {"body": "New."}),
        Act.SKILL_DISCARD: lambda _, row: ("DELETE", f"skills/{row.pk}", None),
        Act.SKILL_FETCH: lambda _, row: ("GET", f"skills/{row.pk}", None),
        Act.MEMORY_AMEND: lambda _, row: ("PATCH", f"memories/{row.pk}", {"body": "New."}),
        Act.PROFILE_AMEND: lambda _, row: ("PATCH", f"profiles/{row.pk}", {"notes": "New."}),
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
        Act.PROPOSAL_REJECT: lambda _, row: (
            "POST",
            f"proposals/{row.pk}/transition",
            {"to": "rejected", "reason": "No."},
        ),
        Act.PROPOSAL_APPLY: lambda _, row: (
            "POST",
            f"proposals/{row.pk}/transition",
            {"to": Proposal.State.APPLIED.value, "style": "Hello first."},
        ),
    }

    def perform(self, scene: Scene, role: Role) -> str:
        """Send it."""
        method, path, body = self.requested[scene.act](scene, scene.subject)
        content = "" if body is None else json.dumps(body)
        answer = self._client(scene, role).generic(method, f"/api/v1/{path}", content, "application/json")
        return "" if answer.status_code < 300 else str(answer.json()["code"])

    def _client(self, scene: Scene, role: Role) -> Client:
        if role is Role.AGENT:
            return Client(headers={"Authorization": f"Bearer {scene.world.token}"})
        client = Client()
        client.force_login(scene.world.admin_user if role is Role.ADMIN else scene.world.operator_user)
        return client
