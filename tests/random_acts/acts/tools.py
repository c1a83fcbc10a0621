"""How acts are tried on other people's tools."""

from collections.abc import Mapping

from apps.conversations.models import Conversation
from apps.governance.policy.table import Act
from apps.tools.actions import (
    allow_tool,
    amend_agent_tool,
    amend_tool_server,
    approve_call,
    ask_approval,
    create_tool_server,
    refuse_call,
    rotate_tool_server_headers,
    spend_approval,
    withdraw_tool,
)
from apps.tools.models import AgentTool, ServerTool, ToolApproval, ToolServer
from apps.tools.tool_listings import refuse_refresh
from tests.random_acts.act_choice import Chosen, Deed, amending, saying
from tests.support.factories.external_tools import ADDRESS


def _create(chosen: Chosen) -> object:
    return create_tool_server(chosen.name[:24], chosen.words[:100], ADDRESS, actor=chosen.actor, headers="X-Key: k")


def _rotate(chosen: Chosen) -> object:
    row = chosen.row(ToolServer)
    return rotate_tool_server_headers(row, actor=chosen.actor, headers=chosen.words, read_at=chosen.read_at(row))


def _refresh(chosen: Chosen) -> object:
    return refuse_refresh(chosen.row(ToolServer).pk, actor=chosen.actor)


def _allow(chosen: Chosen) -> object:
    tool = chosen.row(ServerTool)
    waits = bool(chosen.pick % 2)
    return allow_tool(chosen.agent.pk, tool.pk, tool.sha256, actor=chosen.actor, needs_approval=waits)


def _amend(chosen: Chosen) -> object:
    row = chosen.row(AgentTool)
    waits = bool(chosen.pick % 2)
    return amend_agent_tool(row, actor=chosen.actor, needs_approval=waits, read_at=chosen.read_at(row))


def _ask(chosen: Chosen) -> object:
    thread = chosen.row(Conversation)
    allowed = (chosen.name, "0" * 64)
    return ask_approval(thread.pk, allowed, {}, actor=chosen.actor, agent_id=thread.agent_id, turn_id=1)


def _refuse(chosen: Chosen) -> object:
    row = chosen.row(ToolApproval)
    return refuse_call(row, actor=chosen.actor, reason=chosen.words, read_at=chosen.read_at(row))


def _spend(chosen: Chosen) -> object:
    return spend_approval(chosen.row(ToolApproval), actor=chosen.actor)


TOOLS: Mapping[Act, Deed] = {
    Act.TOOL_SERVER_CREATE: _create,
    Act.TOOL_SERVER_AMEND: saying(ToolServer, amend_tool_server, "title"),
    Act.TOOL_SERVER_ROTATE_HEADERS: _rotate,
    Act.TOOL_SERVER_REFRESH: _refresh,
    Act.AGENT_TOOL_ALLOW: _allow,
    Act.AGENT_TOOL_AMEND: _amend,
    Act.TOOL_APPROVAL_REQUEST: _ask,
    Act.TOOL_APPROVAL_APPROVE: amending(ToolApproval, approve_call),
    Act.TOOL_APPROVAL_REFUSE: _refuse,
    Act.TOOL_APPROVAL_CONSUME: _spend,
    Act.AGENT_TOOL_WITHDRAW: amending(AgentTool, withdraw_tool),
}
