"""Every tool there is, in the order in which a model is told of them, by our names or by those of dAvePi."""

from collections.abc import Mapping
from typing import Final

from apps.mcp_server.davepi_compatibility import ALIASES, STOOD_FOR
from apps.mcp_server.tool_calls import Offered
from apps.mcp_server.tool_definition import Tool
from apps.mcp_server.tools.customers import FOR_CUSTOMERS
from apps.mcp_server.tools.external_turns import FOR_TURNS
from apps.mcp_server.tools.notebook_and_schedules import FOR_PLANS
from apps.mcp_server.tools.persona_and_memory import FOR_ITSELF
from apps.mcp_server.tools.skills import FOR_SKILLS

_EACH: Final = (*FOR_ITSELF, *FOR_SKILLS, *FOR_CUSTOMERS, *FOR_PLANS, *FOR_TURNS)
TOOLS: Final[Mapping[str, Tool]] = {tool.name: tool for tool in _EACH}
# By what stands behind the address's question mark, `names=`.
SHELVES: Final[Mapping[str, Mapping[str, Offered]]] = {
    "": TOOLS,
    "davepi": {**ALIASES, **{name: tool for name, tool in TOOLS.items() if name not in STOOD_FOR}},
}
