"""Actions on tool servers, and on the tools that agents may call. Headers can be written but are never returned."""

from collections.abc import Mapping
from typing import Any

from django.utils import timezone

from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import Conflict, Invalid, NotVisible
from apps.governance.governed_write import assign_values, authorize, governed, governed_create, governed_remove
from apps.governance.models import Taint
from apps.governance.policy.policy_table import Act
from apps.outbound.ssrf import origin_of
from apps.tenants.authentication.actor_resolution import system_actor
from apps.tenants.models import SealedSecret
from apps.tenants.sealed_secrets import delete_secrets, store_secret
from apps.tools.models import AgentTool, ServerTool, ToolApproval, ToolServer
from apps.tools.tool_limits import TOOLS_PER_AGENT, call_sha256, is_approval_needed, parse_headers
from apps.tools.tool_listings import unlist_tools


def create_tool_server(
    key: str, title: str, url: str, *, actor: Actor, headers: str = "", **values: object
) -> ToolServer:
    """Create a tool server. Agents can call none of its tools until a person has read and allowed them."""
    server = ToolServer(tenant_id=actor.tenant_id)
    with governed(Act.TOOL_SERVER_CREATE, server, actor=actor) as row:
        assign_values(row, Act.TOOL_SERVER_CREATE, {"key": key, "title": title, "url": url, **values})
        row.secret = _seal_headers(headers, actor)
    return server


def amend_tool_server(
    server: ToolServer, *, actor: Actor, read_at: int | None = None, reason: str = "", **values: object
) -> ToolServer:
    """Change a tool server; the change applies from the next turn on.

    If the address changes, headers and listed tools are dropped.
    """
    forgotten: int | None = None
    has_moved = False
    with acting_as(actor):
        with governed(Act.TOOL_SERVER_AMEND, server, actor=actor, read_at=read_at, reason=reason) as row:
            origin = origin_of(row.url)
            assign_values(row, Act.TOOL_SERVER_AMEND, values)
            if has_moved := origin != origin_of(row.url):
                forgotten, row.secret = row.secret_id, None
        delete_secrets(forgotten, actor=actor)
        if has_moved:
            unlist_tools(server.pk, actor=system_actor(actor.tenant_id, "worker"))
    return server


def rotate_tool_server_headers(
    server: ToolServer, *, actor: Actor, headers: str, read_at: int | None = None
) -> ToolServer:
    """Replace the headers; an empty text removes them. Turns in progress keep the old ones."""
    with acting_as(actor):
        with governed(Act.TOOL_SERVER_ROTATE_HEADERS, server, actor=actor, read_at=read_at) as row:
            before, row.secret = row.secret_id, _seal_headers(headers, actor)
        delete_secrets(before, actor=actor)
    return server


def allow_tool(
    agent_id: int, tool_id: int, sha256: str, *, actor: Actor, needs_approval: bool = True, reason: str = ""
) -> AgentTool:
    """Allow an agent to call a tool with its current description.

    `sha256` is the hash of the description that the person read.
    """
    authorize(actor, Act.AGENT_TOOL_ALLOW, actor.tenant_id, agent_id=agent_id)
    with acting_as(actor):
        tool = _find_tool(tool_id, actor)
        allowed = AgentTool(tenant_id=actor.tenant_id, agent_id=agent_id, tool=tool)
        with governed(Act.AGENT_TOOL_ALLOW, allowed, actor=actor, reason=reason) as row:
            _refuse_over_limit(agent_id, actor)
            _set_definition(row, tool, sha256)
            _set_approval_need(row, needs_approval=needs_approval)
    return allowed


def amend_agent_tool(
    allowed: AgentTool,
    *,
    actor: Actor,
    needs_approval: bool | None = None,
    sha256: str = "",
    read_at: int | None = None,
    reason: str = "",
) -> AgentTool:
    """Change whether calls need approval, or accept the server's current description, named by its hash."""
    with acting_as(actor), governed(Act.AGENT_TOOL_AMEND, allowed, actor=actor, read_at=read_at, reason=reason) as row:
        if sha256 and sha256 != row.sha256:
            _set_definition(row, _find_tool(row.tool_id, actor), sha256)
        _set_approval_need(row, needs_approval=row.needs_approval if needs_approval is None else needs_approval)
    return allowed


def withdraw_tool(allowed: AgentTool, *, actor: Actor, read_at: int | None = None, reason: str = "") -> None:
    """Withdraw a tool from an agent, from its next turn on. In a session that still lists the tool, calls are refused."""
    governed_remove(Act.AGENT_TOOL_WITHDRAW, allowed, actor=actor, read_at=read_at, reason=reason)


def request_approval(
    conversation_id: int,
    allowed: tuple[str, str],
    arguments: Mapping[str, Any],
    *,
    actor: Actor,
    agent_id: int,
    turn_id: int,
) -> ToolApproval:
    """Request approval for a tool call. `allowed` is the tool's name and permission. The same call is requested only once."""
    authorize(actor, Act.TOOL_APPROVAL_REQUEST, actor.tenant_id, agent_id=agent_id)
    called, sha256 = allowed[0], call_sha256(allowed[1], arguments)
    with acting_as(actor):
        known = ToolApproval.objects.visible_to(actor).standing(conversation_id, sha256).first()
        row = known or ToolApproval(
            tenant_id=actor.tenant_id,
            conversation_id=conversation_id,
            agent_id=agent_id,
            tool_name=called,
            arguments=dict(arguments),
            call_sha256=sha256,
            turn_id=turn_id,
            taint=Taint.CUSTOMER,
        )
        if known is None:
            governed_create(Act.TOOL_APPROVAL_REQUEST, row, actor=actor, evidence={"turn_id": turn_id})
    return row


def approve_call(approval: ToolApproval, *, actor: Actor, read_at: int | None = None) -> ToolApproval:
    """Approve a call. The agent makes it once, exactly as shown."""
    with governed(Act.TOOL_APPROVAL_APPROVE, approval, actor=actor, read_at=read_at) as row:
        row.approve()
        row.decided_by, row.decided_at = actor.label, timezone.now()
    return approval


def refuse_call(approval: ToolApproval, *, actor: Actor, reason: str, read_at: int | None = None) -> ToolApproval:
    """Refuse a call. This also withdraws an approval that has not been used yet."""
    with governed(Act.TOOL_APPROVAL_REFUSE, approval, actor=actor, read_at=read_at, reason=reason) as row:
        row.refuse()
        row.reason = reason
        row.decided_by, row.decided_at = actor.label, timezone.now()
    return approval


def spend_approval(approval: ToolApproval, *, actor: Actor) -> ToolApproval:
    """Mark an approval as used, in the transaction that starts the call. Refused if the approval was withdrawn or used."""
    with governed(Act.TOOL_APPROVAL_CONSUME, approval, actor=actor) as row:
        row.spend()
    return approval


def _find_tool(tool_id: int, actor: Actor) -> ServerTool:
    tool = ServerTool.objects.visible_to(actor).filter(pk=tool_id).select_related("server").first()
    if tool is None:
        raise NotVisible("There is no such tool. Refresh the tools of its server.")
    return tool


def _set_definition(row: AgentTool, tool: ServerTool, sha256: str) -> None:
    definition = tool.defined
    if definition is None or not tool.is_listed:
        raise Conflict(f"This tool cannot be allowed. {tool.validation_error or 'Its server no longer lists it.'}")
    if tool.sha256 != sha256:
        sentence = "The server has changed the description of this tool. Read it again and decide on the current one."
        raise Conflict(sentence)
    row.definition, row.sha256 = definition.stored, definition.sha256


def _set_approval_need(row: AgentTool, *, needs_approval: bool) -> None:
    row.needs_approval = is_approval_needed(row.allowed, is_waived=not needs_approval)
    if row.needs_approval and not needs_approval:
        sentence = "The server does not declare this tool read-only, so each call must wait for a person."
        raise Invalid(sentence, {"needs_approval": [sentence]})


def _refuse_over_limit(agent_id: int, actor: Actor) -> None:
    if AgentTool.objects.visible_to(actor).for_agent(agent_id).count() >= TOOLS_PER_AGENT:
        raise Conflict(f"This agent may call {TOOLS_PER_AGENT} tools already, which is the limit. Withdraw one first.")


def _seal_headers(headers: str, actor: Actor) -> SealedSecret | None:
    if not headers.strip():
        return None
    try:
        parse_headers(headers)
    except ValueError as flaw:
        raise Invalid(str(flaw), {"headers": [str(flaw)]}) from flaw
    return store_secret(headers, actor=actor)
