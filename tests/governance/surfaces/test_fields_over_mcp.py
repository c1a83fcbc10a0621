"""Every field that a tool's request knows and no agent may write, sent by the official client: stripped, said, and not written."""

import pytest

from apps.api.framework.json_schema import body_schema
from apps.governance.actors import Role
from apps.governance.database.actor_transaction import acting_as
from apps.governance.governed_write import recorded_values
from apps.governance.models import Refusal
from apps.governance.policy.policy_table import POLICY
from apps.mcp_server.tool_definition import RestTool
from apps.mcp_server.tools.catalog import TOOLS
from tests.support.drivers.mcp_client import McpTestServer
from tests.support.worlds.lawful_acts import make_scene

# Walks what other tests already cover, many times: measuring that would only make it slower.
pytestmark = [pytest.mark.django_db, pytest.mark.unmeasured]


def forbidden(tool: RestTool) -> list[str]:
    """Fields of the tool's body that its acts govern, none of which an agent may do."""
    if tool.body is None or tool.method != "PATCH":
        return []
    gates = {name: tool.body.gates(name) for name in map(str, tool.body().fields)}
    return [name for name, acts in gates.items() if acts and not any(Role.AGENT in POLICY[act].allowed for act in acts)]


CELLS = [(tool, name) for tool in TOOLS.values() for name in forbidden(tool)]


@pytest.mark.parametrize(("tool", "name"), CELLS, ids=lambda given: getattr(given, "name", given))
def test_a_field_that_agents_may_not_write_is_left_as_it_is(
    mcp_server: McpTestServer, tool: RestTool, name: str
) -> None:
    # R015, R017, R018
    scene = make_scene(tool.acts[0])
    row, body = scene.subject, tool.body
    assert body is not None
    shape = body_schema(body, [name])[name]
    forged = {name: shape["enum"][-1] if "enum" in shape else True if shape["type"] == "boolean" else "Mine."}
    answer = mcp_server.call(scene.world.token, tool.name, {"id": row.pk, "version": row.version, **forged})
    assert (answer.code, answer.data["ignored_fields"]) == ("nothing_permitted", [name])
    with acting_as(scene.reader):
        assert recorded_values(type(row)._default_manager.get(pk=row.pk)) == recorded_values(row)
        assert Refusal.objects.filter(code="nothing_permitted").count() == 1


def test_sections_of_a_persona_labels_of_blocks_and_states_are_among_them() -> None:
    assert {name for _, name in CELLS} >= {
        "identity",
        "style",
        "avoid",
        "defaults",
        "goals",
        "status",
        "label",
        "is_pinned",
    }
