"""Tools for external agents: open a session, call its tools, report a turn."""

from typing import Final

from apps.api.resources.conversations.external_turns import CallSessionToolBody, OpenSessionBody, ReportTurnBody
from apps.governance.policy.policy_table import Act
from apps.mcp_server.tool_definition import RestTool

SESSION_ARGUMENT_TEXTS: Final = {
    "id": "The session's id, as open_session gives it.",
    "turn_id": "The turn's id, as open_session gives it.",
}

EXTERNAL_TURN_TOOLS: Final = (
    RestTool(
        "open_session",
        "Hand in what a customer wrote to an agent that you run, and get the turn that answers it: the prompt, the tools and the"
        " messages for its model. Again without messages it is the same turn. End each turn by report_turn.",
        "POST",
        "sessions/",
        ("channel", "conversation_key", "end_user_key", "user_hash", "off_the_record", "messages"),
        OpenSessionBody,
        words={"end_user_key": "Channel and id of the customer, such as slack:U12345."},
        acts=(Act.SESSION_OPEN,),
        is_idempotent=True,
    ),
    RestTool(
        "call_session_tool",
        "Call a tool that the session names, in the turn it was handed out with. It acts for the customer of the conversation"
        " alone. The same call_id again is the same call.",
        "POST",
        "sessions/{id}/calls/",
        ("turn_id", "call_id", "name", "input"),
        CallSessionToolBody,
        words=SESSION_ARGUMENT_TEXTS,
        acts=(Act.TURN_REPORT,),
        is_destructive=True,
        is_idempotent=True,
    ),
    RestTool(
        "report_turn",
        "Report what the model said in a turn, what tools gave back, and what it used. Only where the answer has may_send is the"
        " reply sent to the customer. Where there is no answer, say why in failure.",
        "POST",
        "sessions/{id}/turns/",
        ("turn_id", "messages", "failure", "idempotency_key"),
        ReportTurnBody,
        needs=("idempotency_key",),
        words=SESSION_ARGUMENT_TEXTS,
        acts=(Act.TURN_REPORT,),
        is_destructive=True,
        is_idempotent=True,
    ),
)
