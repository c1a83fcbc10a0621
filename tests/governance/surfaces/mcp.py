"""MCP as a way in: one call of a tool per act, by the official client over HTTP, with an agent's token."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from apps.governance.actors import Role
from apps.governance.policy.policy_table import Act
from tests.governance.surfaces.base import RUNBOOK
from tests.support.drivers.mcp_client import McpTestServer
from tests.support.factories.external_turns import EXTERNAL_AGENT_TOOLS
from tests.support.factories.schedules import plan_of
from tests.support.worlds.lawful_acts import Scene

Call = tuple[str, dict[str, object]]


def row_call(name: str, **given: object) -> Callable[[Scene, Any], Call]:
    return lambda _, row: (name, {"id": row.pk, "version": row.version, **given})


class McpSurface:
    """`/mcp`: agents by their token. People have no way in here; what is theirs alone is tried with forged arguments."""

    name = "MCP"
    roles = (Role.AGENT,)
    # Where the test's server listens.
    mcp_server: ClassVar[McpTestServer | None] = None

    called: ClassVar[Mapping[Act, Callable[[Scene, Any], Call]]] = {
        Act.PERSONA_PROPOSE: row_call("propose_persona_patch", proposed_patch="Say hello first."),
        Act.PERSONA_AMEND: row_call("propose_persona_patch", style="Brief."),
        Act.PERSONA_ARCHIVE: row_call("propose_persona_patch", status="archived"),
        Act.PERSONA_ACTIVATE: row_call("propose_persona_patch", status="active"),
        Act.RULE_PROPOSE: lambda _, row: (
            "propose_rule_change",
            {"target_id": row.pk, "content": {"text": "Be brief."}},
        ),
        Act.SKILL_DRAFT: lambda _, __: ("draft_skill", dict(RUNBOOK)),
        Act.SKILL_AMEND: row_call("update_skill", body="New."),
        Act.SKILL_PROPOSE: row_call("update_skill", body="New."),
        Act.SKILL_APPROVE: lambda _, row: (
            "update_skill",
            {"id": row.pk, "version": row.version, "status": "approved", "reviewed_sha256": row.content_sha256},
        ),
        Act.SKILL_DEPRECATE: row_call("update_skill", status="deprecated"),
        Act.SKILL_DISCARD: lambda _, row: ("discard_skill_draft", {"id": row.pk}),
        Act.SKILL_FETCH: lambda _, row: ("get_skill", {"id": row.pk}),
        Act.MEMORY_AMEND: row_call("update_memory", body="New."),
        Act.BLOCK_AMEND: row_call("update_block", body="New."),
        Act.BLOCK_WRITE: row_call("update_block", label="Facts"),
        Act.PROFILE_AMEND: row_call("update_profile", notes="New."),
        Act.CONVERSATION_RESOLVE: lambda _, row: ("resolve_conversation", {"id": row.pk, "outcome": "solved"}),
        Act.CONVERSATION_ABANDON: lambda _, row: ("abandon_conversation", {"id": row.pk}),
        Act.CONVERSATION_RATE: lambda _, row: ("rate_conversation", {"id": row.pk, "score": 4}),
        Act.ESCALATION_OPEN: lambda _, row: (
            "escalate",
            {"conversation_id": row.conversation_id, "reason": "missing_knowledge", "question": "And who pays?"},
        ),
        **EXTERNAL_AGENT_TOOLS,
        Act.SCHEDULE_DRAFT: lambda scene, skill: ("propose_schedule", _schedule_arguments(scene, skill)),
        Act.SCHEDULE_DEPRECATE: lambda _, row: ("withdraw_schedule", {"id": row.pk}),
        Act.NOTE_WRITE: lambda _, __: ("write_note", {"kind": "task", "text": "Call them back."}),
        Act.NOTE_AMEND: lambda _, row: ("update_note", {"id": row.pk, "text": "Write to them."}),
        Act.NOTE_FINISH: lambda _, row: ("finish_note", {"id": row.pk}),
        Act.NOTE_DROP: lambda _, row: ("drop_note", {"id": row.pk}),
        Act.PROPOSAL_WITHDRAW: lambda _, row: ("withdraw_proposal", {"id": row.pk}),
    }
    not_offered: ClassVar[Mapping[Act, str]] = dict.fromkeys(set(Act) - set(called), "no tool stands for it")
    not_for: ClassVar[Mapping[tuple[Act, Role], str]] = {}

    def perform(self, scene: Scene, role: Role) -> str:
        """Call it."""
        del role
        assert self.mcp_server is not None
        name, given = self.called[scene.act](scene, scene.subject)
        return self.mcp_server.call(scene.world.token, name, given).code


def _schedule_arguments(scene: Scene, skill: Any) -> dict[str, object]:
    plan = plan_of(scene.world, skill=skill)
    return {name: plan[name] for name in ("key", "title", "cron")} | {"skill": skill.name}
