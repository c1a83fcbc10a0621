"""Lists over the official client are searched by the words that REST takes."""

import pytest

from apps.mcp_server.tools.catalog import TOOLS
from tests.support.drivers.mcp_client import McpTestServer
from tests.support.factories.notes import make_note
from tests.support.worlds.world import World, make_conversation

pytestmark = pytest.mark.django_db


def test_every_list_that_rest_searches_is_searched_by_its_tool() -> None:
    paged = {name: tool for name, tool in TOOLS.items() if tool.is_paged}
    filters = {name: getattr(tool.view[0], "filterset_class", None) for name, tool in paged.items()}
    searched = {name for name, each in filters.items() if each and "search" in each.base_filters}
    assert {"list_conversations", "list_notes", "list_blocks", "list_skills", "list_rules"} <= searched
    assert searched == {name for name, tool in paged.items() if "search" in tool.schema()["properties"]}


@pytest.mark.slow
def test_a_conversation_and_a_note_are_found_by_a_word(mcp_server: McpTestServer, world: World) -> None:
    conversation, _ = make_conversation(world), make_conversation(world)
    found = mcp_server.call(world.token, "list_conversations", {"search": conversation.conversation_key})
    assert [row["id"] for row in found.data["results"]] == [conversation.pk]
    note, _ = make_note(world, text="Ask about the zebra."), make_note(world)
    found = mcp_server.call(world.token, "list_notes", {"search": "zebra ask"})
    assert [row["id"] for row in found.data["results"]] == [note.pk]
    assert mcp_server.call(world.token, "list_notes", {"search": "zebra crossing"}).data["results"] == []
    refused = mcp_server.call(world.token, "list_notes", {"search": "a " * 11})
    assert refused.code == "invalid"
    assert "at most 10 words" in refused.text
