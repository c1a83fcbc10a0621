"""Every tool, and every skill behind an address, over MCP: another tenant's row is like one that is nowhere."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest

from apps.conversations.models import Conversation
from apps.mcp_server.tool_definition import RestTool
from apps.mcp_server.tools.catalog import TOOLS
from apps.personas.models import StandingRule
from apps.runtime.models import Turn
from apps.skills.models import Skill
from tests.governance.isolation.test_isolation_over_rest import KEYS, MODELS
from tests.governance.not_found_comparison import UNKNOWN_ID, compare_responses, row_of, table_fingerprints
from tests.support.drivers.mcp_client import McpTestServer, McpToolAnswer
from tests.support.worlds.filled_world import Filled
from tests.support.worlds.world import World, make_world

# Walks what other tests already cover, thousands of times: measuring that would only make it slower.
pytestmark = [pytest.mark.django_db, pytest.mark.unmeasured, pytest.mark.usefixtures("beside_filled")]

# What a body names besides the row in the address.
ARGUMENT_MODELS = {"conversation_id": Conversation, "skill_id": Skill, "turn_id": Turn}
# A model's own, for its calls.
OWN_ID_ARGUMENTS = {"call_id"}
TARGETS = {"propose_rule_change": StandingRule, "propose_skill_deprecation": Skill}
# Arguments that name no row.
NEUTRAL_ARGUMENTS = {"status", "state", "kind", "reason", "cursor", "page_size", "channel"}


@dataclass
class ToolAnswer:
    """A tool's answer as whoever compares two of them reads it."""

    said: McpToolAnswer
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def status_code(self) -> int:
        """As over HTTP, told by the refusal."""
        return 400 if self.said.is_refusal else 200

    @property
    def content(self) -> bytes:
        """Words and data."""
        return (self.said.text + json.dumps(self.said.data)).encode()


@pytest.fixture
def stranger() -> World:
    return make_world()


def rows_named() -> Iterator[tuple[RestTool, str, Any]]:
    """Each argument of each tool that names a row, with the row's model."""
    for tool in TOOLS.values():
        for name in tool.schema()["properties"]:
            if name == "id":
                yield tool, name, MODELS[tool.address.split("/")[0]]
            elif name == "target_id":
                yield tool, name, TARGETS[tool.name]
            elif name.endswith("_id") and name not in OWN_ID_ARGUMENTS:
                yield tool, name, ARGUMENT_MODELS[name]


def tool_arguments(tool: RestTool, **given: object) -> dict[str, object]:
    """Every argument, with a value of its kind whose words say nothing."""
    kinds: dict[object, object] = {"integer": 1, "boolean": True, "object": {"text": "Mine."}}
    found: dict[str, object] = {}
    for name, of in tool.schema()["properties"].items():
        known = of.get("enum", [None])[0] or kinds.get(str(of["type"]), "Mine.")
        if name not in NEUTRAL_ARGUMENTS or tool.body is not None:
            found[name] = known
    return {**found, **given}


def _call_tool(
    mcp_server: McpTestServer, token: str, tool: RestTool, given: dict[str, object], name: str, value: object
) -> ToolAnswer:
    return ToolAnswer(mcp_server.call(token, tool.name, given | {name: value}))


@pytest.mark.slow
def test_every_tool_answers_for_another_tenants_row_as_for_none(
    victim: Filled, stranger: World, mcp_server: McpTestServer
) -> None:
    # R006, R007
    before, asked = table_fingerprints(victim.world), 0
    for tool, name, model in rows_named():
        row = row_of(model, victim.world)
        for given in (tool_arguments(tool), {need: tool_arguments(tool)[need] for need in tool.schema()["required"]}):
            call = partial(_call_tool, mcp_server, stranger.token, tool, given, name)
            there, nowhere = compare_responses(call, row.pk, UNKNOWN_ID)
            assert not there.differs_from(nowhere), (tool.name, name, given)
            assert there.refused or tool.is_paged, (tool.name, name, there)
            asked += 1
    assert asked > 40
    assert table_fingerprints(victim.world) == before


@pytest.mark.slow
def test_every_filter_of_every_tool_finds_another_tenants_row_as_little_as_none(
    victim: Filled, stranger: World, mcp_server: McpTestServer
) -> None:
    # R006
    for tool in TOOLS.values():
        if not tool.reads or tool.places:
            continue
        row = row_of(MODELS[tool.address.split("/")[0]], victim.world)
        needed = {name: tool_arguments(tool)[name] for name in tool.needs}
        for name in tool.takes:
            if name in NEUTRAL_ARGUMENTS or name.endswith("_id"):
                continue
            theirs = KEYS[name] or getattr(row, name) or "support"
            call = partial(_call_tool, mcp_server, stranger.token, tool, needed, name)
            there, nowhere = compare_responses(call, theirs, "nothing-like-it")
            assert not there.differs_from(nowhere), (tool.name, name)
        if not needed:
            answer = mcp_server.call(stranger.token, tool.name).data
            assert row.pk not in [line["id"] for line in answer.get("results", [answer] if "id" in answer else [])]
