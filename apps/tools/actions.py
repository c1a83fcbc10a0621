"""Acts on tool servers and on what agents may call. Headers go in and never come out."""

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
    """Name a server whose tools agents may be allowed. None is before somebody has read what it offers."""
    server = ToolServer(tenant_id=actor.tenant_id)
    with governed(Act.TOOL_SERVER_CREATE, server, actor=actor) as row:
        assign_values(row, Act.TOOL_SERVER_CREATE, {"key": key, "title": title, "url": url, **values})
        row.secret = _seal_headers(headers, actor)
    return server


def amend_tool_server(
    server: ToolServer, *, actor: Actor, read_at: int | None = None, reason: str = "", **values: object
) -> ToolServer:
    """Change it, from the next turn on. Neither headers nor what was listed follow to another server."""
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
    """Put other headers in the place of the present ones, or with an empty text none. Turns under way end with the old."""
    with acting_as(actor):
        with governed(Act.TOOL_SERVER_ROTATE_HEADERS, server, actor=actor, read_at=read_at) as row:
            before, row.secret = row.secret_id, _seal_headers(headers, actor)
        delete_secrets(before, actor=actor)
    return server


def allow_tool(
    agent_id: int, tool_id: int, sha256: str, *, actor: Actor, needs_approval: bool = True, reason: str = ""
) -> AgentTool:
    """Let an agent call a tool as its server describes it now. `sha256` is of the description that was read."""
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
    """Say otherwise whether calls wait; or with the hash of what its server says now, allow it as that describes it."""
    with acting_as(actor), governed(Act.AGENT_TOOL_AMEND, allowed, actor=actor, read_at=read_at, reason=reason) as row:
        if sha256 and sha256 != row.sha256:
            _set_definition(row, _find_tool(row.tool_id, actor), sha256)
        _set_approval_need(row, needs_approval=row.needs_approval if needs_approval is None else needs_approval)
    return allowed


def withdraw_tool(allowed: AgentTool, *, actor: Actor, read_at: int | None = None, reason: str = "") -> None:
    """Let an agent call a tool no more, from its next turn on; a session that names it is told so when it tries."""
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
    """Have a call wait for a person. `allowed` is the tool's name and its permission; the same call waits once."""
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
    """Let the call be made, once, as it stands there."""
    with governed(Act.TOOL_APPROVAL_APPROVE, approval, actor=actor, read_at=read_at) as row:
        row.approve()
        row.decided_by, row.decided_at = actor.label, timezone.now()
    return approval


def refuse_call(approval: ToolApproval, *, actor: Actor, reason: str, read_at: int | None = None) -> ToolApproval:
    """Let the call not be made; also take a yes back that came to nothing yet."""
    with governed(Act.TOOL_APPROVAL_REFUSE, approval, actor=actor, read_at=read_at, reason=reason) as row:
        row.refuse()
        row.reason = reason
        row.decided_by, row.decided_at = actor.label, timezone.now()
    return approval


def spend_approval(approval: ToolApproval, *, actor: Actor) -> ToolApproval:
    """The call begins in this commit. Refused where somebody took the yes back, or it was made."""
    with governed(Act.TOOL_APPROVAL_CONSUME, approval, actor=actor) as row:
        row.spend()
    return approval


def _find_tool(tool_id: int, actor: Actor) -> ServerTool:
    tool = ServerTool.objects.visible_to(actor).filter(pk=tool_id).select_related("server").first()
    if tool is None:
        raise NotVisible("There is no such tool. Have the server asked what it offers.")
    return tool


def _set_definition(row: AgentTool, tool: ServerTool, sha256: str) -> None:
    definition = tool.defined
    if definition is None or not tool.is_listed:
        raise Conflict(
            f"This tool cannot be offered. {tool.validation_error or 'Its server does not list it any more.'}"
        )
    if tool.sha256 != sha256:
        sentence = "The server describes this tool otherwise by now. Read it again and decide on what stands there."
        raise Conflict(sentence)
    row.definition, row.sha256 = definition.stored, definition.sha256


def _set_approval_need(row: AgentTool, *, needs_approval: bool) -> None:
    row.needs_approval = is_approval_needed(row.allowed, is_waived=not needs_approval)
    if row.needs_approval and not needs_approval:
        sentence = "Its server does not say that this tool only reads, so each call waits for a person."
        raise Invalid(sentence, {"needs_approval": [sentence]})


def _refuse_over_limit(agent_id: int, actor: Actor) -> None:
    if AgentTool.objects.visible_to(actor).for_agent(agent_id).count() >= TOOLS_PER_AGENT:
        raise Conflict(f"This agent may call {TOOLS_PER_AGENT} tools already, which is the most. Withdraw one first.")


def _seal_headers(headers: str, actor: Actor) -> SealedSecret | None:
    if not headers.strip():
        return None
    try:
        parse_headers(headers)
    except ValueError as flaw:
        raise Invalid(str(flaw), {"headers": [str(flaw)]}) from flaw
    return store_secret(headers, actor=actor)
