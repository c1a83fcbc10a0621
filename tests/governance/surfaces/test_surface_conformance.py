"""Every surface takes what the policy governs, and one that does not is named with the class to look at."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from apps.api.resources.personas.personas import PersonaView
from apps.console.personas.personas import PersonaAdmin
from apps.governance.act_schemas import schema_of
from apps.governance.actors import Role
from apps.governance.policy.policy_table import POLICY, Act, PolicyRule
from apps.governance.policy.surface_conformance import acts_by_surface, all_policy_violations, surfaces
from apps.mcp_server.tools.catalog import TOOLS
from apps.memory.rules import BODY_CHARACTERS
from apps.personas.models import SECTION_CHARACTERS
from apps.runtime.tools.builtin_catalog import BUILTIN_TOOLS
from apps.tenants.management.commands.create_tenant import Command as CreateTenant
from apps.tenants.policy_sync.policy_page import page_drift, page_path, render_page
from tests.support.drivers.management_command import run_command

pytestmark = pytest.mark.kernel

# Acts that no request names: they happen inside others, or the console's pages for them stand beside the declarations.
INNER_ACTS = {
    *(Act.CONVERSATION_OPEN, Act.SKILL_UNDO, Act.SKILL_REDRAFT, Act.PROPOSAL_EXPIRE),
    *(Act.MEMORY_PROPOSE, Act.BLOCK_PROPOSE, Act.PROFILE_PROPOSE),
    *(Act.TOOL_APPROVAL_REQUEST, Act.TOOL_APPROVAL_CONSUME),
    *(Act.LEARNING_VERSION_PROPOSE, Act.LEARNING_VERSION_PRUNE, Act.LEARNING_VERSION_APPLY),
    *(Act.CONTRADICTION_FIND, Act.CONTRADICTION_RECUR, Act.CONTRADICTION_CLEAR),
    *(Act.TIER_DISTIL, Act.EDIT_CLUSTER_FIND),
    *(Act.DRAFT_CREATE, Act.DRAFT_SUPERSEDE, Act.CONVERSATION_PROVE, Act.CONVERSATION_ERASE),
}

# What the console does and REST does not, each for its reason.
CONSOLE_ONLY_ACTS = {
    Act.TENANT_ENTER: "platform staff enter by the console, and have no way in by REST",
    Act.TENANT_LEAVE: "the same",
    Act.MEMBER_ACCEPT: "an invitation is accepted by its link, by whoever is nobody here yet",
}


def policy_with_voice_field(act: Act) -> Mapping[Act, PolicyRule]:
    """The policy, were the act to govern one field more."""
    return {**POLICY, act: replace(POLICY[act], fields=(*POLICY[act].fields, "voice"))}


def test_no_surface_departs_from_the_policy() -> None:
    # R015, R017, R018
    assert all_policy_violations() == []
    assert {surface.name for surface in surfaces()} >= {"REST", "MCP", "console", "commands", "agent's tools"}


def test_every_act_is_offered_somewhere() -> None:
    assert {act for act, ways in acts_by_surface().items() if not ways} <= INNER_ACTS
    assert acts_by_surface()[Act.SKILL_APPROVE]["console"] == ["skills: Approve"]
    assert "DELETE /skills/{id}" in acts_by_surface()[Act.SKILL_DISCARD]["REST"]
    assert acts_by_surface()[Act.SKILL_PROPOSE]["MCP"] == ["propose_skill_deprecation", "update_skill"]
    assert acts_by_surface()[Act.TENANT_CREATE]["commands"] == ["create_tenant", "seed_personas"]


def test_whatever_the_console_can_do_is_done_by_rest_too() -> None:
    missing = {act for act, ways in acts_by_surface().items() if "console" in ways and "REST" not in ways}
    assert missing == set(CONSOLE_ONLY_ACTS)
    assert all(CONSOLE_ONLY_ACTS.values())


def test_a_body_that_cannot_carry_a_governed_field_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("apps.api.policy_conformance.POLICY", policy_with_voice_field(Act.PERSONA_AMEND))
    assert all_policy_violations() == [
        "REST: apps.api.resources.personas.personas.UpdatePersonaBody cannot carry voice, which persona.amend governs.",
    ]


def test_a_page_that_hides_a_governed_field_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("apps.console.policy_conformance.POLICY", policy_with_voice_field(Act.PERSONA_AMEND))
    [line] = all_policy_violations()
    assert line.startswith(
        "console: apps.console.personas.personas.PersonaAdmin edits by persona.amend and does not show voice"
    )


def test_a_form_that_takes_more_than_its_act_governs_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    assert PersonaAdmin.creates is not None
    monkeypatch.setattr(PersonaAdmin, "creates", replace(PersonaAdmin.creates, takes=("agent", "status")))
    [line] = all_policy_violations()
    assert "PersonaAdmin adds by persona.create; its form takes status" in line


def test_a_button_on_a_page_of_another_noun_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    archive = PersonaAdmin.buttons[0]
    monkeypatch.setattr(PersonaAdmin, "buttons", (replace(archive, act=Act.SKILL_APPROVE),))
    assert any("the button Archive is skill.approve, an act on other rows" in line for line in all_policy_violations())


def test_a_form_by_an_act_of_another_kind_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    assert PersonaAdmin.creates is not None
    monkeypatch.setattr(PersonaAdmin, "creates", replace(PersonaAdmin.creates, act=Act.SKILL_APPROVE))
    monkeypatch.setattr(PersonaAdmin, "amends", (replace(PersonaAdmin.amends[0], act=Act.SKILL_DISCARD),))
    violations = " ".join(all_policy_violations())
    assert "adds by skill.approve, which makes no persona" in violations
    assert "edits by skill.discard, which changes no persona" in violations


def test_a_request_that_is_nobodys_act_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PersonaView, "acts", {})
    violations = " ".join(all_policy_violations())
    assert "PersonaView (/personas) does not name in `acts` the act of create, destroy, partial_update" in violations
    assert "UpdatePersonaBody is for persona.amend, which no view names in `acts`" in violations


def test_a_tool_that_is_no_act_of_agents_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    tools = [tool.name for tool in BUILTIN_TOOLS if tool.keeps]
    monkeypatch.setattr("apps.runtime.policy_conformance.ACT_BY_TOOL", dict.fromkeys(tools[1:], Act.PERSONA_AMEND))
    violations = " ".join(all_policy_violations())
    assert f"the tool {tools[0]} keeps something and names no act" in violations
    assert "is persona.amend, which the policy gives no agent" in violations
    assert "which persona.amend takes no text for" in violations


def test_a_tool_over_mcp_that_is_another_act_than_its_request_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    tool = TOOLS["update_memory"]
    forged = {
        "a": replace(tool, acts=()),
        "b": replace(tool, acts=(Act.MEMORY_APPROVE,)),
        "c": replace(tool, takes=("body", "mood")),
    }
    monkeypatch.setattr("apps.mcp_server.policy_conformance.TOOLS", forged)
    assert all_policy_violations() == [
        "MCP: the tool update_memory writes and names no act.",
        "MCP: the tool update_memory is memory.approve, which MemoryView does not do there.",
        "MCP: the tool update_memory is memory.approve, which the policy gives no agent.",
        "MCP: the tool update_memory sends mood, which UpdateMemoryBody does not know.",
    ]


def test_a_command_beyond_the_systems_rights_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    # R094
    monkeypatch.setattr(CreateTenant, "acts", (Act.SKILL_APPROVE,))
    assert all_policy_violations() == ["commands: create_tenant acts as the system, which may not skill.approve."]


def test_the_page_for_auditors_says_what_the_policy_says() -> None:
    assert page_drift() == []
    assert page_path().read_text(encoding="utf-8") == render_page()
    rows = {
        line.split(" | ")[0].removeprefix("| "): line for line in render_page().splitlines() if line.startswith("| ")
    }
    assert len(rows) > len(Act)
    verdicts = {line.split(" | ")[0]: line.split(" | ")[1 : len(Role) + 1] for line in render_page().splitlines()}
    assert verdicts["| grant.sync"] != verdicts["| skill.draft"]


def test_a_page_that_is_out_of_date_is_said_and_written_anew(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stale = tmp_path / "policy.md"
    stale.write_text("Everybody may do everything.")
    monkeypatch.setattr("apps.tenants.policy_sync.policy_page.page_path", lambda: stale)
    assert "Run `manage.py sync_policy --write-docs`" in page_drift()[0]
    monkeypatch.setattr("apps.tenants.management.commands.sync_policy.page_path", lambda: stale)
    assert run_command("sync_policy", "--write-docs").failure == ""
    assert page_drift() == []


def test_an_act_says_its_fields_as_a_schema() -> None:
    drafting = schema_of(Act.SKILL_DRAFT)
    assert drafting["required"] == ["agent", "name", "title", "description", "body"]
    assert drafting["properties"]["name"]["pattern"].endswith("$")
    assert drafting["properties"]["agent"] == {"type": "integer"}
    assert drafting["additionalProperties"] is False
    amending = schema_of(Act.PERSONA_AMEND)
    assert set(amending["properties"]) == {"identity", "style", "avoid", "defaults", "goals"}
    assert amending["required"] == []
    assert amending["properties"]["avoid"]["maxLength"] == SECTION_CHARACTERS


def test_a_schema_knows_choices_truth_values_and_what_is_settled() -> None:
    agent = schema_of(Act.AGENT_AMEND)["properties"]
    assert agent["has_learning"]["type"] == "boolean"
    assert agent["context_tier"]["enum"] == [1, 2, 3, 4]
    assert schema_of(Act.SKILL_ATTACH)["properties"]["attachments"].get("type") is None
    assert set(schema_of(Act.MEMORY_AMEND)["properties"]) == {"body"}
    made = schema_of(Act.MEMORY_AMEND, adding=True)
    assert set(made["properties"]) == {"agent", "body"}
    assert made["properties"]["body"]["maxLength"] == BODY_CHARACTERS
    assert schema_of(Act.PERSONA_PROPOSE)["properties"]["proposed_patch"] == {"type": "string", "minLength": 1}
