"""Tool calls that need approval: a turn requests the call, a person decides, and a later turn makes the call once."""

from collections.abc import Iterable, Mapping, Set
from functools import partial
from typing import Final

from apps.conversations.models import Conversation
from apps.conversations.rules import ToolCall
from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import Conflict, refuse_blank
from apps.governance.governed_write import authorize
from apps.governance.policy.policy_table import Act
from apps.llm.model_backend import JsonObject
from apps.prompt.instruction_texts import CALL_APPROVED, CALL_PENDING, CALL_REFUSED
from apps.runtime.tools.builtin_tool import BuiltinTool, ToolContext
from apps.runtime.tools.delegation_answers import tell_agent
from apps.runtime.tools.tool_server_tools import ToolServerTool
from apps.tools.actions import approve_call, refuse_call, request_approval
from apps.tools.models import ToolApproval

CONVERSATION_ENDED: Final = "This conversation has ended, so the call would never be made. Reject it."
# The beginning of the result of a pending call. Results of tool servers are fenced, so none of them begins like this.
_WAITS_PREFIX: Final = CALL_PENDING.partition("{")[0]


def guarded_tools(others: Iterable[ToolServerTool], reached: Set[str]) -> dict[str, ToolServerTool]:
    """The tools that a session reaches and whose calls need approval, by name."""
    return {tool.definition.name: tool for tool in others if tool.needs_approval and tool.definition.name in reached}


def approval_request_tools(guarded: Mapping[str, ToolServerTool], system: Actor) -> dict[str, BuiltinTool]:
    """Stand-ins for tools that need approval: each is a built-in tool that requests the approval."""
    return {
        name: BuiltinTool(
            name, tool.definition.description, {}, (), partial(_request_approval, tool, system), learns=False
        )
        for name, tool in guarded.items()
    }


def _request_approval(tool: ToolServerTool, system: Actor, context: ToolContext, arguments: JsonObject) -> str:
    row = request_approval(
        context.conversation.pk,
        (tool.definition.name, tool.allowance),
        arguments,
        actor=system,
        agent_id=context.agent_id,
        turn_id=context.turn_id,
    )
    return CALL_PENDING.format(request=row.pk)


def is_waiting_call(call: ToolCall) -> bool:
    """Whether the call is pending: it was not made because it needs approval first."""
    return call.result.startswith(_WAITS_PREFIX)


def permit_call(approval: ToolApproval, *, actor: Actor, read_at: int | None = None) -> ToolApproval:
    """Approve a call and have the agent make it. The approval and the message to the agent are one commit."""
    authorize(actor, Act.TOOL_APPROVAL_APPROVE, approval.tenant_id, agent_id=approval.agent_id)
    with acting_as(actor):
        if approval.conversation.status != Conversation.Status.OPEN:
            raise Conflict(CONVERSATION_ENDED)
        approve_call(approval, actor=actor, read_at=read_at)
        _tell_agent(approval, CALL_APPROVED.format(called=approval.tool_name, request=approval.pk), actor)
    return approval


def forbid_call(approval: ToolApproval, *, actor: Actor, reason: str, read_at: int | None = None) -> ToolApproval:
    """Reject a call and have the agent tell the customer, if the conversation is still open."""
    authorize(actor, Act.TOOL_APPROVAL_REFUSE, approval.tenant_id, agent_id=approval.agent_id)
    refuse_blank(reason, "Give a reason; the agent tells the customer.")
    with acting_as(actor):
        refuse_call(approval, actor=actor, reason=reason, read_at=read_at)
        if approval.conversation.status == Conversation.Status.OPEN:
            refusal = CALL_REFUSED.format(called=approval.tool_name, request=approval.pk)
            _tell_agent(approval, f"{refusal}\n\n{reason}", actor)
    return approval


def _tell_agent(approval: ToolApproval, text: str, actor: Actor) -> None:
    tell_agent(approval.conversation, text, f"tool-approval-{approval.pk}-{approval.status}", actor=actor)
