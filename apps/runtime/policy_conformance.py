"""Checks that the built-in tools conform to the policy: each tool has an act, and its parameters match the act's fields."""

from collections.abc import Iterator, Mapping
from typing import Final

from apps.governance.act_schemas import schema_of
from apps.governance.actors import Role
from apps.governance.policy.policy_table import POLICY, Act
from apps.governance.policy.surface_conformance import SurfaceConformance, register_surface
from apps.runtime.tools.builtin_catalog import BUILTIN_TOOLS
from apps.runtime.tools.builtin_tool import BuiltinTool

# The act that each tool performs. `FIELD_BY_PARAMETER` maps parameters whose name differs from the act's field.
ACT_BY_TOOL: Final[Mapping[str, Act]] = {
    "get_skill": Act.SKILL_FETCH,
    "skill_view": Act.SKILL_FETCH,
    "update_my_memory": Act.BLOCK_AMEND,
    "update_contact_memory": Act.PROFILE_AMEND,
    "update_memory": Act.MEMORY_AMEND,
    "update_customer_profile": Act.PROFILE_AMEND,
    "propose_persona_patch": Act.PERSONA_PROPOSE,
    "draft_skill": Act.SKILL_DRAFT,
    "escalate": Act.ESCALATION_OPEN,
    "delegate": Act.CONVERSATION_DELEGATE,
    "propose_schedule": Act.SCHEDULE_DRAFT,
    "withdraw_schedule": Act.SCHEDULE_DEPRECATE,
    "soul_update": Act.MEMBER_OVERLAY_WRITE,
    # The skill tools perform these acts on the agent's own drafts. On an approved skill each tool makes a proposal instead.
    "skill_save": Act.SKILL_PROPOSE,
    "skill_patch": Act.SKILL_AMEND,
    "skill_delete": Act.SKILL_DISCARD,
    "write_note": Act.NOTE_WRITE,
    "finish_note": Act.NOTE_FINISH,
}
# The second act of a tool that performs one of two acts, depending on what it changes.
SECOND_ACT_BY_TOOL: Final[Mapping[str, Act]] = {"update_my_memory": Act.MEMORY_AMEND, "finish_note": Act.NOTE_DROP}
FIELD_BY_PARAMETER: Final[Mapping[str, Mapping[str, str]]] = {
    "propose_persona_patch": {"text": "proposed_patch"},
    "update_my_memory": {"operations": "body"},
    "update_contact_memory": {"operations": "notes"},
    "skill_patch": {"replace": "body"},
}
# Parameters that identify a row or the version that was read, and so are no fields of the row.
ROW_PARAMETERS: Final[Mapping[str, frozenset[str]]] = {
    "withdraw_schedule": frozenset({"key", "reason"}),
    "skill_save": frozenset({"skill_id", "version"}),
    "skill_patch": frozenset({"skill_id", "version", "find"}),
    "finish_note": frozenset({"note_id", "outcome"}),
}
# Fields that refer to another row, which the tool finds by name.
ROW_FIELDS: Final[Mapping[str, frozenset[str]]] = {"propose_schedule": frozenset({"skill"})}


def acts_offered() -> dict[Act, list[str]]:
    """Each act with the tools that perform it."""
    found: dict[Act, list[str]] = {}
    for name, act in (*ACT_BY_TOOL.items(), *SECOND_ACT_BY_TOOL.items()):
        found.setdefault(act, []).append(name)
    return found


def policy_violations() -> Iterator[str]:
    """Describe tools that store something without an act, perform an act forbidden to agents, or ask for an unknown field."""
    for tool in BUILTIN_TOOLS:
        act = ACT_BY_TOOL.get(tool.name)
        if act is None and tool.keeps:
            yield f"the tool {tool.name} keeps something and names no act in {__name__}.ACT_BY_TOOL."
        elif act is not None and POLICY[act].fields:
            yield from _tool_departures(tool, act)


def _tool_departures(tool: BuiltinTool, act: Act) -> Iterator[str]:
    if Role.AGENT not in POLICY[act].allowed:
        yield f"the tool {tool.name} is {act.value}, which the policy gives no agent."
    properties = schema_of(act)["properties"]
    called = FIELD_BY_PARAMETER.get(tool.name, {})
    settled = POLICY[act].settled | ROW_FIELDS.get(tool.name, frozenset()) | ROW_PARAMETERS.get(tool.name, frozenset())
    for name in tool.parameters:
        if name not in settled and properties.get(called.get(name, name), {}).get("type") != "string":
            yield f"the tool {tool.name} asks for {name}, which {act.value} takes no text for."


register_surface(SurfaceConformance("agent's tools", acts_offered, policy_violations))
