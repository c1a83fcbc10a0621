"""Tools over the official client: both generations of the protocol, what they read and write, and how refusals are said."""

import logging

import jsonschema
import pytest
from django.db import connection
from django.test import Client as Browser
from django.test.utils import CaptureQueriesContext
from mcp.client.client import Client
from mcp_types import ListToolsResult
from pytest_django import Settings

from apps.api.framework.in_process_requests import ApiCaller
from apps.governance.database.actor_transaction import acting_as
from apps.governance.models import Proposal, Refusal
from apps.kill_switches.actions import activate_kill_switch
from apps.kill_switches.models import KillSwitch
from apps.launcher.data_folders import PROJECT
from apps.mcp_server.tool_calls import run_tool
from apps.mcp_server.tools.catalog import TOOLS
from apps.memory.models import AgentMemory
from apps.personas.models import Persona
from apps.skills.models import Skill
from tests.support.drivers.mcp_client import GENERATIONS, McpTestServer, protocol_error
from tests.support.drivers.rest_client import agent_client
from tests.support.worlds.world import (
    World,
    make_block,
    make_conversation,
    make_memory,
    make_persona,
    make_profile,
    make_skill,
    make_skill_with_file,
)

pytestmark = pytest.mark.django_db


async def fetch_tools(client: Client) -> ListToolsResult:
    return await client.list_tools()


@pytest.mark.slow
@pytest.mark.parametrize("mode", GENERATIONS.values(), ids=GENERATIONS)
def test_both_generations_list_read_write_and_are_refused(mcp_server: McpTestServer, world: World, mode: str) -> None:
    skill = make_skill(world, "approved")
    assert {tool.name for tool in mcp_server.connected(world.token, fetch_tools, mode).tools} == set(TOOLS)
    read = mcp_server.call(world.token, "list_skills", {"status": "approved"}, mode)
    assert [row["id"] for row in read.data["results"]] == [skill.pk]
    written = mcp_server.call(
        world.token, "draft_skill", {"title": "Greet", "description": "How.", "body": "Hello."}, mode
    )
    assert (written.data["status"], written.data["name"]) == ("draft", "greet")
    assert mcp_server.call(world.token, "discard_skill_draft", {"id": skill.pk}, mode).code == "not_permitted"


def test_the_two_generations_speak_different_versions(mcp_server: McpTestServer, world: World) -> None:
    async def version(client: Client) -> str:
        return client.protocol_version

    spoken = {name: mcp_server.connected(world.token, version, mode) for name, mode in GENERATIONS.items()}
    assert spoken["new"] >= "2026-07-28" > spoken["old"]


def test_a_tool_answers_what_rest_answers(mcp_server: McpTestServer, world: World) -> None:
    # R091, R096
    skill = make_skill(world, "approved")
    by_tool = mcp_server.call(world.token, "get_skill", {"id": skill.pk}).data
    by_rest = agent_client(world).get(f"skills/{skill.pk}/").body
    assert by_tool["use_count"] == 1
    assert by_rest["use_count"] == 2
    counted = {"use_count", "last_used_at"}
    assert {name: value for name, value in by_tool.items() if name not in counted} == {
        name: value for name, value in by_rest.items() if name not in counted
    }


def test_what_an_agent_may_not_write_is_stripped_and_said(mcp_server: McpTestServer, world: World) -> None:
    # R017, R018, Z-14
    persona = make_persona(world)
    result = mcp_server.call(
        world.token, "propose_persona_patch", {"id": persona.pk, "proposed_patch": "Be kind.", "style": "Mine."}
    )
    assert result.data["ignored_fields"] == ["style"]
    assert result.data["proposed_patch"] == "Be kind."
    with acting_as(world.operator):
        assert Persona.objects.get(pk=persona.pk).style == persona.style
    forged = mcp_server.call(world.token, "propose_persona_patch", {"id": persona.pk, "style": "Mine."})
    assert forged.code == "nothing_permitted"
    assert "style" in forged.text
    assert "What to do: Leave these arguments out." in forged.text
    with acting_as(world.operator):
        assert Refusal.objects.filter(code="nothing_permitted").count() == 1


def test_a_forged_status_makes_no_skill_live(mcp_server: McpTestServer, world: World) -> None:
    # R018, R094
    given = {"title": "Greet", "description": "How.", "body": "Hello.", "status": "approved"}
    result = mcp_server.call(world.token, "draft_skill", given)
    assert result.data["ignored_fields"] == ["status"]
    with acting_as(world.operator):
        assert Skill.objects.get(pk=result.data["id"]).status == Skill.Status.DRAFT


@pytest.mark.slow
def test_a_change_of_an_approved_skill_is_pending_review(mcp_server: McpTestServer, world: World) -> None:
    # R019, Z-3
    skill = make_skill(world, "approved")
    result = mcp_server.call(world.token, "update_skill", {"id": skill.pk, "version": skill.version, "body": "Better."})
    assert (result.data["id"], result.data["version"]) == (skill.pk, skill.version)
    assert result.data["is_pending_review"] is True
    with acting_as(world.operator):
        waiting = Proposal.objects.visible_to(world.operator).open().get(pk=result.data["proposal_id"])
        assert Skill.objects.get(pk=skill.pk).body == skill.body
    assert waiting.content["body"] == "Better."
    mine = mcp_server.call(world.token, "list_proposals", {"state": "open"}).data["results"]
    assert [row["id"] for row in mine] == [waiting.pk]
    assert mcp_server.call(world.token, "withdraw_proposal", {"id": waiting.pk}).data == {"done": True}


def test_a_change_of_what_has_changed_is_refused_with_the_current_version(
    mcp_server: McpTestServer, world: World
) -> None:
    memory = make_memory(world)
    given = {"id": memory.pk, "version": memory.version, "body": "One."}
    assert mcp_server.call(world.token, "update_memory", given).data["version"] == memory.version + 1
    result = mcp_server.call(world.token, "update_memory", given | {"body": "Two."})
    assert (result.code, result.data["current_version"]) == ("stale", memory.version + 1)
    assert f"Current version: {memory.version + 1}." in result.text
    assert "Read it again" in result.text
    with acting_as(world.operator):
        assert AgentMemory.objects.get(pk=memory.pk).body == "One."


@pytest.mark.slow
def test_arguments_are_judged_in_words(mcp_server: McpTestServer, world: World) -> None:
    skill = make_skill(world)
    unknown = mcp_server.call(world.token, "get_skill", {"id": skill.pk, "verbose": True})
    assert unknown.code == "invalid"
    assert "verbose: There is no such argument. There are: id." in unknown.text
    for wrong in (0, -1, True, "7", 1.5, 2**63, None):
        assert list(mcp_server.call(world.token, "get_skill", {"id": wrong}).data["errors"]) == ["id"]
    assert list(mcp_server.call(world.token, "update_skill", {"id": skill.pk}).data["errors"]) == ["version"]
    assert list(mcp_server.call(world.token, "find_profile").data["errors"]) == ["end_user_key"]
    assert list(mcp_server.call(world.token, "list_skills", {"status": ["draft"]}).data["errors"]) == ["status"]
    too_long = mcp_server.call(world.token, "draft_skill", {"title": "T", "description": "x" * 400, "body": "B."})
    assert (too_long.code, list(too_long.data["errors"])) == ("invalid", ["description"])
    assert mcp_server.call(world.token, "get_skill", {"id": 987654}).code == "not_found"


def test_a_tool_that_is_none_is_an_error_of_the_protocol(mcp_server: McpTestServer, world: World) -> None:
    refusal = protocol_error(mcp_server, world.token, lambda client: client.call_tool("approve_skill", {"id": 1}))
    assert "There is no tool approve_skill" in refusal.message


def test_a_stop_holds_over_mcp(mcp_server: McpTestServer, world: World) -> None:
    memory = make_memory(world)
    activate_kill_switch(KillSwitch.Kind.FREEZE_LEARNING, actor=world.operator, reason="Rest.")
    result = mcp_server.call(world.token, "update_memory", {"id": memory.pk, "version": memory.version, "body": "New."})
    assert result.code == "stopped_by_kill_switch"
    assert "Do not try again" in result.text


@pytest.mark.slow
def test_what_an_agent_has_is_found_without_knowing_ids(mcp_server: McpTestServer, world: World) -> None:
    assert mcp_server.call(world.token, "read_persona").data == {"found": False}
    persona, memory, block = make_persona(world), make_memory(world), make_block(world)
    profile, conversation = make_profile(world), make_conversation(world)
    assert mcp_server.call(world.token, "read_persona").data["id"] == persona.pk
    assert mcp_server.call(world.token, "read_memory").data["body"] == memory.body
    assert [row["label"] for row in mcp_server.call(world.token, "list_blocks").data["results"]] == [block.label]
    found = mcp_server.call(world.token, "find_profile", {"end_user_key": profile.end_user_key}).data
    assert (found["id"], found["notes"]) == (profile.pk, profile.notes)
    assert mcp_server.call(world.token, "get_conversation", {"id": conversation.pk}).data["status"] == "open"
    assert (
        mcp_server.call(world.token, "read_transcript", {"conversation_id": conversation.pk}).data["next_cursor"]
        is None
    )


def test_a_list_goes_on_where_its_page_ended(mcp_server: McpTestServer, world: World) -> None:
    skills = {make_skill(world).pk for _ in range(3)}
    page = mcp_server.call(world.token, "list_skills", {"page_size": 2}).data
    rest = mcp_server.call(world.token, "list_skills", {"page_size": 2, "cursor": page["next_cursor"]}).data
    assert {row["id"] for row in (*page["results"], *rest["results"])} == skills
    assert rest["next_cursor"] is None


def test_files_of_a_skill_come_as_links_that_can_be_fetched(
    mcp_server: McpTestServer, world: World, settings: Settings
) -> None:
    # R091
    skill = make_skill_with_file(world)
    [named, *_] = mcp_server.call(world.token, "get_skill", {"id": skill.pk}).data["attachments"]
    [file, *_] = mcp_server.call(world.token, "list_skill_files", {"skill_id": skill.pk}).data["attachments"]
    assert "link" not in named
    assert file["link"].startswith(f"{settings.CONSOLE_URL}/files/")
    fetched = Browser().get(file["link"].removeprefix(settings.CONSOLE_URL))
    assert fetched.status_code == 200
    assert len(b"".join(fetched)) == file["size_bytes"]


def test_a_fault_of_ours_is_said_without_its_words(world: World, caplog: pytest.LogCaptureFixture) -> None:
    # A host the settings do not know makes the view's own addresses fail, behind everything that a caller can send.
    caplog.set_level(logging.CRITICAL, "apps.mcp_server")
    for _ in range(2):
        make_skill(world)
    caller = ApiCaller(world.bot, world.token, "elsewhere.example", is_secure=False)
    result = run_tool(TOOLS["list_skills"], {"page_size": 1}, caller)
    assert (result.is_refusal, result.data["code"]) == (True, "internal")
    assert "elsewhere" not in result.text


@pytest.mark.slow
def test_a_call_costs_what_its_request_costs(mcp_server: McpTestServer, world: World) -> None:
    for _ in range(3):
        skill = make_skill(world, "approved")
    asker = agent_client(world)
    pairs: tuple[tuple[str, dict[str, int], str], ...] = (
        ("list_skills", {}, "skills/"),
        ("get_skill", {"id": skill.pk}, f"skills/{skill.pk}/"),
    )
    for name, given, path in pairs:
        mcp_server.call(world.token, name, given)
        with CaptureQueriesContext(connection) as over_rest:
            asker.get(path)
        with CaptureQueriesContext(connection) as over_mcp:
            mcp_server.call(world.token, name, given)
        # The client asks besides which generation the server speaks, and for the tools: each time its token is looked up.
        asked = [each["sql"] for each in over_mcp.captured_queries]
        looked_up = [place for place, sql in enumerate(asked) if "resolve_agent_token" in sql]
        for_a_token = len(asked) - looked_up[-1]
        assert len(asked) - 2 * for_a_token == len(over_rest.captured_queries)
        assert len(looked_up) == 3


def test_every_schema_is_one_and_takes_nothing_else(world: World) -> None:
    for tool in TOOLS.values():
        schema = tool.schema()
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema["additionalProperties"] is False
        assert set(schema["required"]) <= set(schema["properties"])
        assert all("description" in of or "enum" in of or "type" in of for of in schema["properties"].values())
        assert not any(name in {"agent_key", "tenant", "agent"} for name in schema["properties"])


def test_hints_tell_what_reads_and_what_destroys(mcp_server: McpTestServer, world: World) -> None:
    hints = {tool.name: tool.annotations for tool in mcp_server.connected(world.token, fetch_tools).tools}
    reading = {name for name, hint in hints.items() if hint and hint.read_only_hint}
    assert reading == {name for name, tool in TOOLS.items() if tool.method == "GET"}
    assert {"discard_skill_draft", "update_memory", "resolve_conversation"} <= {
        name for name, hint in hints.items() if hint and hint.destructive_hint
    }
    assert all(hint and hint.open_world_hint is False for hint in hints.values())


def test_every_tool_stands_in_the_documentation() -> None:
    page = (PROJECT / "docs" / "mcp.md").read_text(encoding="utf-8")
    assert [name for name in TOOLS if f"`{name}`" not in page] == []
