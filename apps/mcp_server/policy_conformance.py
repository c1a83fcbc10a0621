"""Checks that agents may make the request behind each tool, and lists the tools that perform each act."""

from collections.abc import Iterator

from apps.governance.actors import Role
from apps.governance.policy.policy_table import POLICY, Act
from apps.governance.policy.surface_conformance import SurfaceConformance, register_surface
from apps.mcp_server.tool_definition import RestTool
from apps.mcp_server.tools.catalog import TOOLS


def acts_offered() -> dict[Act, list[str]]:
    """Return each act with the tools that perform it. A read-only tool performs the acts of its address."""
    found: dict[Act, list[str]] = {}
    for tool in TOOLS.values():
        view, handler = tool.view
        for act in tool.acts or (view.acts.get(handler, ()) if tool.reads else ()):
            found.setdefault(act, []).append(tool.name)
    return found


def policy_violations() -> Iterator[str]:
    """Yield tools that write without an act, with an act forbidden to agents, or with another act than their request's."""
    for tool in TOOLS.values():
        yield from _tool_violations(tool)


def _tool_violations(tool: RestTool) -> Iterator[str]:
    view, handler = tool.view
    performed = view.acts.get(handler, ())
    if not tool.reads and not tool.acts:
        yield f"the tool {tool.name} writes and names no act."
    for act in tool.acts:
        if act not in performed:
            yield f"the tool {tool.name} is {act.value}, which {view.__name__} does not do there."
        if Role.AGENT not in POLICY[act].allowed:
            yield f"the tool {tool.name} is {act.value}, which the policy gives no agent."
    fields = frozenset(tool.body().fields) if tool.body else frozenset()
    for name in (*tool.takes, *tool.sets):
        if tool.body is not None and name not in fields:
            yield f"the tool {tool.name} sends {name}, which {tool.body.__name__} does not know."


register_surface(SurfaceConformance("MCP", acts_offered, policy_violations))
