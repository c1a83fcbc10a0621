"""Tools for questions that an agent hands to a colleague."""

from typing import Final

from apps.api.resources.desk.escalations import OpenEscalationBody
from apps.governance.policy.policy_table import Act
from apps.mcp_server.tool_definition import RestTool
from apps.mcp_server.tools.argument_texts import CONVERSATION_TEXT

ESCALATION_TOOLS: Final = (
    RestTool(
        "escalate",
        "Hand a question to a person, with the conversation it came up in and why. A question that waits for the same reason"
        " takes it in.",
        "POST",
        "escalations/",
        ("conversation_id", "reason", "question"),
        OpenEscalationBody,
        words={"conversation_id": CONVERSATION_TEXT, "question": "What a person should decide or find out."},
        acts=(Act.ESCALATION_OPEN,),
    ),
    RestTool(
        "list_escalations",
        "List the questions you handed to people, with their answers.",
        "GET",
        "escalations/",
        ("conversation_id", "status", "reason", "search"),
        words={"conversation_id": CONVERSATION_TEXT},
    ),
)
