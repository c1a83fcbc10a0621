"""Every tool, in the order in which models see them, under our names or dAvePi's."""

from collections.abc import Mapping
from typing import Final

from apps.mcp_server.davepi_compatibility import DAVEPI_TOOLS, REPLACED_TOOLS
from apps.mcp_server.tool_calls import CallableTool
from apps.mcp_server.tool_definition import RestTool
from apps.mcp_server.tools.conversations import CONVERSATION_TOOLS
from apps.mcp_server.tools.customers import CUSTOMER_TOOLS
from apps.mcp_server.tools.escalations import ESCALATION_TOOLS
from apps.mcp_server.tools.external_turns import EXTERNAL_TURN_TOOLS
from apps.mcp_server.tools.memory import MEMORY_TOOLS
from apps.mcp_server.tools.notebook import NOTEBOOK_TOOLS
from apps.mcp_server.tools.persona import PERSONA_TOOLS
from apps.mcp_server.tools.proposals import PROPOSAL_TOOLS
from apps.mcp_server.tools.schedules import SCHEDULE_TOOLS
from apps.mcp_server.tools.skills import SKILL_TOOLS

_ALL_TOOLS: Final = (
    *PERSONA_TOOLS,
    *MEMORY_TOOLS,
    *SKILL_TOOLS,
    *CUSTOMER_TOOLS,
    *CONVERSATION_TOOLS,
    *ESCALATION_TOOLS,
    *NOTEBOOK_TOOLS,
    *SCHEDULE_TOOLS,
    *PROPOSAL_TOOLS,
    *EXTERNAL_TURN_TOOLS,
)
TOOLS: Final[Mapping[str, RestTool]] = {tool.name: tool for tool in _ALL_TOOLS}
# Tool sets by the value of the query parameter `names`.
TOOL_SETS: Final[Mapping[str, Mapping[str, CallableTool]]] = {
    "": TOOLS,
    "davepi": {**DAVEPI_TOOLS, **{name: tool for name, tool in TOOLS.items() if name not in REPLACED_TOOLS}},
}
