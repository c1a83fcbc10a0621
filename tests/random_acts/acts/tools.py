"""How acts are tried on other people's tools."""

from collections.abc import Mapping

from apps.conversations.models import Conversation
from apps.governance.policy.policy_table import Act
from apps.tools.actions import (
    allow_tool,
    amend_agent_tool,
    amend_tool_server,
    approve_call,
    create_tool_server,
    refuse_call,
    request_approval,
    rotate_tool_server_headers,
    spend_approval,
    withdraw_tool,
)
from apps.tools.models import AgentTool, ServerTool, ToolApproval, ToolServer
from apps.tools.tool_listings import check_refresh_allowed
from tests.random_acts.act_choice import ActChoice, ActRunner, amend_row, write_parameter
from tests.support.factories.external_tools import ADDRESS


def _create_server(chosen: ActChoice) -> object:
    return create_tool_server(chosen.name[:24], chosen.words[:100], ADDRESS, actor=chosen.actor, headers="X-Key: k")


def _rotate_headers(chosen: ActChoice) -> object:
    row = chosen.row(ToolServer)
    return rotate_tool_server_headers(row, actor=chosen.actor, headers=chosen.words, read_at=chosen.read_at(row))


def _refresh(chosen: ActChoice) -> object:
    return check_refresh_allowed(chosen.row(ToolServer).pk, actor=chosen.actor)


def _allow_tool(chosen: ActChoice) -> object:
    tool = chosen.row(ServerTool)
    waits = bool(chosen.pick % 2)
    return allow_tool(chosen.agent.pk, tool.pk, tool.sha256, actor=chosen.actor, needs_approval=waits)


def _amend_agent_tool(chosen: ActChoice) -> object:
    row = chosen.row(AgentTool)
    waits = bool(chosen.pick % 2)
    return amend_agent_tool(row, actor=chosen.actor, needs_approval=waits, read_at=chosen.read_at(row))


def _ask_approval(chosen: ActChoice) -> object:
    thread = chosen.row(Conversation)
    allowed = (chosen.name, "0" * 64)
    return request_approval(thread.pk, allowed, {}, actor=chosen.actor, agent_id=thread.agent_id, turn_id=1)


def _refuse_call(chosen: ActChoice) -> object:
    row = chosen.row(ToolApproval)
    return refuse_call(row, actor=chosen.actor, reason=chosen.words, read_at=chosen.read_at(row))


def _spend_approval(chosen: ActChoice) -> object:
    return spend_approval(chosen.row(ToolApproval), actor=chosen.actor)


TOOLS: Mapping[Act, ActRunner] = {
    Act.TOOL_SERVER_CREATE: _create_server,
    Act.TOOL_SERVER_AMEND: write_parameter(ToolServer, amend_tool_server, "title"),
    Act.TOOL_SERVER_ROTATE_HEADERS: _rotate_headers,
    Act.TOOL_SERVER_REFRESH: _refresh,
    Act.AGENT_TOOL_ALLOW: _allow_tool,
    Act.AGENT_TOOL_AMEND: _amend_agent_tool,
    Act.TOOL_APPROVAL_REQUEST: _ask_approval,
    Act.TOOL_APPROVAL_APPROVE: amend_row(ToolApproval, approve_call),
    Act.TOOL_APPROVAL_REFUSE: _refuse_call,
    Act.TOOL_APPROVAL_CONSUME: _spend_approval,
    Act.AGENT_TOOL_WITHDRAW: amend_row(AgentTool, withdraw_tool),
}
