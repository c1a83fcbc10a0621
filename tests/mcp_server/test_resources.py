"""Skills as resources and the prefix of the next session as a prompt."""

from typing import Any

import pytest
from mcp.client.client import Client

from apps.governance.database.actor_transaction import acting_as
from apps.skills.models import SkillUse
from tests.restore.restore_scenario import CUSTOMER, current_prompt, make_prompt_rows
from tests.support.drivers.mcp_client import GENERATIONS, McpTestServer, protocol_error
from tests.support.worlds.world import World, make_skill, make_world

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("mode", GENERATIONS.values(), ids=GENERATIONS)
def test_approved_skills_are_resources_whose_bytes_were_approved(
    mcp_server: McpTestServer, world: World, mode: str
) -> None:
    # R091, R096
    skill, _ = make_skill(world, "approved"), make_skill(world)

    async def read(client: Client) -> tuple[list[str], str, str | None]:
        resources = (await client.list_resources()).resources
        templates = (await client.list_resource_templates()).resource_templates
        assert [template.uri_template for template in templates] == ["skill://{name}"]
        [content] = (await client.read_resource(resources[0].uri)).contents
        return [resource.uri for resource in resources], getattr(content, "text", ""), content.mime_type

    assert mcp_server.connected(world.token, read, mode) == ([f"skill://{skill.name}"], skill.body, "text/markdown")
    with acting_as(world.operator):
        assert SkillUse.objects.get(skill=skill).use_count == 1


@pytest.mark.slow
def test_drafts_strangers_and_nonsense_are_no_resources(mcp_server: McpTestServer, world: World) -> None:
    # R006, R093
    draft, theirs = make_skill(world), make_skill(make_world(), "approved")

    def refusal(uri: str) -> str:
        error = protocol_error(mcp_server, world.token, lambda client: client.read_resource(uri))
        return error.message.replace(uri, "*")

    messages = {
        refusal(uri)
        for uri in (
            f"skill://{draft.name}",
            f"skill://{theirs.name}",
            "skill://",
            "file:///etc/passwd",
        )
    }
    assert messages == {"There is no approved skill at *. resources/list names those there are."}


def test_an_agent_reads_what_its_next_session_is_told(mcp_server: McpTestServer, world: World) -> None:
    make_prompt_rows(world)

    async def read(client: Client) -> Any:
        assert [prompt.name for prompt in (await client.list_prompts()).prompts] == ["session_prefix"]
        return await client.get_prompt("session_prefix", {"end_user_key": CUSTOMER})

    session_prompt = mcp_server.connected(world.token, read)
    assert [message.content.text for message in session_prompt.messages] == [current_prompt(world)]
    assert session_prompt.description.startswith("sha256 ")


def test_a_prompt_refuses_what_the_api_refuses(mcp_server: McpTestServer, world: World) -> None:
    no_such = protocol_error(mcp_server, world.token, lambda client: client.get_prompt("greeting"))
    assert "There is session_prefix" in no_such.message
    past = protocol_error(
        mcp_server, world.token, lambda client: client.get_prompt("session_prefix", {"as_of": "2026-01-01"})
    )
    assert past.data["code"] == "not_permitted"
