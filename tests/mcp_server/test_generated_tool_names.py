"""dAvePi's generated names: its agents' own calls, in their shapes."""

from dataclasses import replace

import jsonschema
import pytest
from django.db import connection
from mcp.client.client import Client
from mcp_types import ListToolsResult

from apps.api.framework.json_schema import handler_at
from apps.governance.database.actor_transaction import acting_as
from apps.governance.models import Proposal
from apps.mcp_server.davepi_compatibility import DAVEPI_TOOLS, REPLACED_TOOLS
from apps.mcp_server.tools.catalog import TOOLS
from apps.personas.models import Persona
from apps.skills.actions import count_use
from tests.support.drivers.mcp_client import McpTestServer, protocol_error
from tests.support.worlds.world import (
    World,
    make_conversation,
    make_memory,
    make_persona,
    make_profile,
    make_skill,
    make_world,
)


@pytest.fixture
def theirs(mcp_server: McpTestServer) -> McpTestServer:
    """The address that an agent of dAvePi is given."""
    return replace(mcp_server, url=f"{mcp_server.url}?names=davepi")


async def fetch_tools(client: Client) -> ListToolsResult:
    return await client.list_tools()


def test_names_are_told_when_asked_for_and_each_thing_once(
    mcp_server: McpTestServer, theirs: McpTestServer, world: World
) -> None:
    ours = {tool.name for tool in mcp_server.connected(world.token, fetch_tools).tools}
    asked = {tool.name for tool in theirs.connected(world.token, fetch_tools).tools}
    assert asked == set(DAVEPI_TOOLS) | (set(TOOLS) - REPLACED_TOOLS)
    assert not (ours & set(DAVEPI_TOOLS)) - {"get_skill", "get_conversation", "update_skill"}
    assert {"list_skill", "get_skill", "update_agentMemory", "update_agentPersona", "list_customerProfile"} <= asked
    assert protocol_error(
        mcp_server, world.token, lambda client: client.call_tool("list_skill", {})
    ).message.startswith("There is no")
    other_server = replace(mcp_server, url=f"{mcp_server.url}?names=other")
    assert "send davepi" in protocol_error(other_server, world.token, lambda client: client.list_tools()).message


@pytest.mark.slow
def test_a_session_starts_with_the_calls_that_it_makes_there(theirs: McpTestServer, world: World) -> None:
    # R002, R091: persona, memory, the approved skills by use, the customer.
    persona, memory, profile = make_persona(world), make_memory(world), make_profile(world)
    seldom, often, _ = make_skill(world, "approved"), make_skill(world, "approved"), make_skill(world)
    count_use(often, actor=world.bot)
    key = world.agent.key
    [row] = theirs.call(
        world.token, "list_agentPersona", {"filter": {"agentKey": key, "status": "active"}, "perPage": 1}
    ).data["results"]
    assert (row["_id"], row["identity"], row["agentKey"]) == (str(persona.pk), persona.identity, key)
    [row] = theirs.call(world.token, "list_agentMemory", {"filter": {"agentKey": key}, "perPage": 1}).data["results"]
    assert (row["_id"], row["body"], row["updatedBy"]) == (str(memory.pk), memory.body, "agent")
    skills = theirs.call(
        world.token,
        "list_skill",
        {"filter": {"agentKey": key, "status": "approved"}, "perPage": 100, "sort": "useCount:desc"},
    ).data
    assert [row["name"] for row in skills["results"]] == [often.title, seldom.title]
    assert (skills["totalResults"], skills["page"], skills["perPage"]) == (2, 1, 100)
    [row] = theirs.call(
        world.token, "list_customerProfile", {"filter": {"endUserKey": profile.end_user_key}, "perPage": 1}
    ).data["results"]
    assert row["preferences"] == profile.preferences


@pytest.mark.slow
def test_it_writes_its_memory_and_follows_a_skill_by_their_names(theirs: McpTestServer, world: World) -> None:
    # R078, R096
    made = theirs.call(world.token, "create_agentMemory", {"record": {"agentKey": world.agent.key, "body": "EU."}}).data
    again = theirs.call(world.token, "update_agentMemory", {"id": made["_id"], "record": {"body": "EU and Norway."}})
    assert (again.data["body"], again.data["version"]) == ("EU and Norway.", 2)
    skill = make_skill(world, "approved")
    read = theirs.call(world.token, "get_skill", {"id": str(skill.pk)}).data
    assert (read["body"], read["name"], read["slug"], read["useCount"]) == (skill.body, skill.title, skill.name, 1)


@pytest.mark.slow
def test_what_is_governed_there_is_governed_here(theirs: McpTestServer, world: World) -> None:
    # R017, R018, R020
    persona = make_persona(world)
    patch = {"proposedPatch": "Soften the refund rule.", "avoid": "Nothing."}
    result = theirs.call(world.token, "update_agentPersona", {"id": persona.pk, "record": patch}).data
    assert (result["proposedPatch"], result["ignoredFields"]) == (patch["proposedPatch"], ["avoid"])
    with acting_as(world.operator):
        assert Persona.objects.get(pk=persona.pk).avoid == persona.avoid
        assert Proposal.objects.visible_to(world.operator).open().count() == 1
    record = {
        "agentKey": world.agent.key,
        "name": "Issue a refund",
        "description": "How.",
        "body": "B.",
        "status": "approved",
    }
    drafted = theirs.call(world.token, "create_skill", {"record": record}).data
    assert (drafted["name"], drafted["slug"], drafted["status"]) == ("Issue a refund", "issue-a-refund", "draft")
    approved = make_skill(world, "approved")
    assert theirs.call(world.token, "delete_skill", {"id": approved.pk}).code == "not_permitted"
    forged = theirs.call(world.token, "update_skill", {"id": drafted["_id"], "record": {"status": "approved"}})
    assert forged.code == "nothing_permitted"
    waits = theirs.call(world.token, "update_skill", {"id": approved.pk, "record": {"body": "New."}}).data
    assert waits["isPendingReview"] is True
    assert (waits["_id"], waits["name"], waits["body"]) == (str(approved.pk), approved.title, approved.body)
    with acting_as(world.operator):
        revision = Proposal.objects.visible_to(world.operator).open().get(kind=Proposal.Kind.SKILL_REVISION)
    assert waits["proposalId"] == revision.pk


def test_a_conversation_is_resolved_by_its_thread(theirs: McpTestServer, world: World) -> None:
    # R108
    conversation = make_conversation(world)
    known = {"channel": conversation.channel, "conversationId": conversation.conversation_key}
    [row] = theirs.call(world.token, "list_conversation", {"filter": known}).data["results"]
    ended = theirs.call(world.token, "update_conversation", {"id": row["_id"], "record": {"status": "resolved"}}).data
    assert (ended["status"], ended["conversationId"]) == ("resolved", conversation.conversation_key)
    history = theirs.call(world.token, "update_conversation", {"id": row["_id"], "record": {"history": "[]"}})
    assert (history.code, list(history.data["errors"])) == ("invalid", ["history"])


@pytest.mark.slow
def test_nothing_of_another_tenant_is_there(theirs: McpTestServer, world: World) -> None:
    # R006
    other = make_world()
    rows = {
        "agentPersona": make_persona(other),
        "agentMemory": make_memory(other),
        "customerProfile": make_profile(other),
        "skill": make_skill(other, "approved"),
        "conversation": make_conversation(other),
    }
    for alias in DAVEPI_TOOLS.values():
        row = rows[alias.noun.name]
        given = {"id": row.pk} | ({"record": {"body": "Mine.", "status": "resolved"}} if alias.verb == "update" else {})
        if alias.verb == "list":
            assert theirs.call(world.token, alias.name).data["results"] == []
        elif alias.verb != "create":
            result = theirs.call(world.token, alias.name, given)
            nowhere = theirs.call(world.token, alias.name, given | {"id": 987_654_321})
            assert (result.code, result.text) == ("not_found", nowhere.text), alias.name
    assert connection.in_atomic_block


@pytest.mark.parametrize(
    ("name", "given", "wrong"),
    [
        ("list_skill", {"filter": {"useCount": {"$gte": 3}}}, "filter.useCount"),
        ("list_skill", {"filter": "approved"}, "filter"),
        ("list_skill", {"page": 2}, "page"),
        ("list_skill", {"perPage": 0}, "perPage"),
        ("list_skill", {"sort": "useCount"}, "sort"),
        ("list_skill", {"include": ["agent"]}, "include"),
        ("list_agentMemory", {"q": "eu"}, "q"),
        ("list_agentMemory", {"filter": {"mood": "good"}}, "mood"),
        ("get_skill", {"id": "5f2b"}, "id"),
        ("get_skill", {}, "id"),
        ("update_agentMemory", {"id": "1"}, "record"),
        ("create_agentMemory", {"record": ["EU."]}, "record"),
        ("create_skill", {"record": {"name": "x", "description": "d", "body": "b", "mood": "good"}}, "mood"),
    ],
)
def test_what_is_not_known_is_named(
    theirs: McpTestServer, world: World, name: str, given: dict[str, object], wrong: str
) -> None:
    result = theirs.call(world.token, name, given)
    assert (result.code, list(result.data["errors"])) == ("invalid", [wrong])


def test_each_alias_is_a_request_that_a_tool_of_ours_makes() -> None:
    ours = {(tool.view, tool.method) for tool in TOOLS.values()}
    for alias in DAVEPI_TOOLS.values():
        jsonschema.Draft202012Validator.check_schema(alias.schema())
        asked = alias.asked({"id": 1, "record": {}} if alias.verb in {"create", "update"} else {"id": 1})
        view, handler = handler_at(asked.method, asked.address)
        known = {name for (of, name), _ in ours if of is view}
        assert handler in known or (handler == "retrieve" and "list" in known), alias.name
    assert set(TOOLS) > REPLACED_TOOLS
