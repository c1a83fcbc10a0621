"""Tools for an agent's proposals."""

from typing import Final

from apps.governance.policy.policy_table import Act
from apps.mcp_server.tool_definition import RestTool

PROPOSAL_TOOLS: Final = (
    RestTool(
        "list_proposals",
        "List what you proposed: what waits for a person, and what people said to the rest.",
        "GET",
        "proposals/",
        ("state", "kind", "search"),
    ),
    RestTool(
        "get_proposal",
        "Read one of your proposals, with a reviewer's request to word it otherwise, or the reason of a rejection.",
        "GET",
        "proposals/{id}/",
        words={"id": "The proposal's id, as list_proposals gives it."},
    ),
    RestTool(
        "withdraw_proposal",
        "Take back a proposal of yours that nobody approved yet.",
        "DELETE",
        "proposals/{id}/",
        words={"id": "The proposal's id, as list_proposals gives it."},
        acts=(Act.PROPOSAL_WITHDRAW,),
        is_destructive=True,
    ),
)
