"""Every tool there is, in the order in which a model is told of them, by our names or by those of dAvePi."""

from collections.abc import Mapping
from typing import Final

from apps.mcp_server.calling import Offered
from apps.mcp_server.davepi import ALIASES, STOOD_FOR
from apps.mcp_server.requests import Tool
from apps.mcp_server.tools_for_customers import FOR_CUSTOMERS
from apps.mcp_server.tools_for_itself import FOR_ITSELF
from apps.mcp_server.tools_for_plans import FOR_PLANS
from apps.mcp_server.tools_for_skills import FOR_SKILLS
from apps.mcp_server.tools_for_turns import FOR_TURNS

_EACH: Final = (*FOR_ITSELF, *FOR_SKILLS, *FOR_CUSTOMERS, *FOR_PLANS, *FOR_TURNS)
TOOLS: Final[Mapping[str, Tool]] = {tool.name: tool for tool in _EACH}
# By what stands behind the address's question mark, `names=`.
SHELVES: Final[Mapping[str, Mapping[str, Offered]]] = {
    "": TOOLS,
    "davepi": {**ALIASES, **{name: tool for name, tool in TOOLS.items() if name not in STOOD_FOR}},
}
