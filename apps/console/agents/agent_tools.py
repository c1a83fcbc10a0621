"""Tools of tool servers that agents may call, each allowed after a person read its description."""

from typing import Any

from django import forms
from django.http import HttpRequest

from apps.console.agents.tool_servers import schema_text
from apps.console.framework.forms import GovernedForm, OptionalReasonForm
from apps.console.framework.governed_admin import GovernedAdmin
from apps.console.framework.list_columns import column
from apps.console.framework.page_actions import Button, CreateAction, EditAction, PanelReader
from apps.console.framework.row_urls import url_of_subject
from apps.governance.actors import Actor
from apps.governance.errors import Invalid
from apps.governance.policy.policy_table import Act
from apps.tenants.models import Agent
from apps.tools.actions import allow_tool, amend_agent_tool, withdraw_tool
from apps.tools.models import AgentTool, ServerTool
from apps.tools.tool_limits import differences

NOT_READ_YET = (
    "Read the server's description of the tool first: use the link Allow an agent beside it, on the server's page."
)


class AllowToolForm(GovernedForm):
    """Approval of the description beside the link, even if the server describes the tool differently by now."""

    read_sha256 = forms.CharField(required=False, widget=forms.HiddenInput)


class ReallowToolForm(OptionalReasonForm):
    """Approval of exactly this description."""

    sha256 = forms.CharField(widget=forms.HiddenInput)


def tool_panels(row: Any, request: HttpRequest) -> dict[str, Any]:
    """Return the allowed definition, and how the server's present definition differs from it."""
    server_definition = row.tool.defined
    return {
        "definition": row.allowed,
        "shape": schema_text(row.allowed),
        "server": row.tool.server,
        "differences": differences(row.allowed, server_definition) if server_definition else (),
        "state": offer_state(row),
    }


def offer_state(row: AgentTool) -> str:
    """Return in words whether the agent is offered the tool, or why not."""
    if row.is_offered:
        return "offered"
    if not row.tool.server.is_active:
        return "not offered: the server is switched off"
    if row.tool.validation_error or not row.tool.is_listed:
        return f"not offered: {row.tool.validation_error or 'the server does not list it any more'}"
    return "not offered: the server describes it otherwise by now"


def _allow(*, actor: Actor, agent: Agent, tool: ServerTool, read_sha256: str, needs_approval: bool) -> AgentTool:
    if not read_sha256:
        raise Invalid(NOT_READ_YET, {"tool": [NOT_READ_YET]})
    return allow_tool(agent.pk, tool.pk, read_sha256, actor=actor, needs_approval=needs_approval)


def _amend(row: AgentTool, *, actor: Actor, needs_approval: bool, read_at: int | None, read_sha256: str) -> AgentTool:
    return amend_agent_tool(row, actor=actor, needs_approval=needs_approval, read_at=read_at)


def _has_changed(row: Any) -> bool:
    return bool(row.tool.defined and row.tool.is_listed and row.tool.sha256 != row.sha256)


def _current_description(row: Any) -> dict[str, Any]:
    return {"sha256": row.tool.sha256}


def _page_of_agent(row: AgentTool) -> str:
    return url_of_subject("tenants.agent", row.agent_id)


class AgentToolAdmin(GovernedAdmin):
    """The tools that each agent may call, and whether a changed description has to be read again."""

    form = AllowToolForm
    list_display = ("name", "agent", "needs_approval", "state", "updated")
    list_filter = ("agent", "needs_approval")
    list_select_related = ("agent", "tool__server")
    search_fields = ("tool__qualified_name",)
    search_help_text = "Search the tool's name"
    empty = "No agent may call a tool of others yet. Add a tool server, ask what it offers, and allow an agent what it needs."
    add_fields = ("agent", "tool", "needs_approval")
    fields = ("needs_approval",)
    change_form_template = "console/agents/agent_tool.html"
    saved = "Saved. It applies to the next session, and to calls of sessions already open."
    creates = CreateAction(Act.AGENT_TOOL_ALLOW, _allow, add_fields)
    amends = (EditAction(Act.AGENT_TOOL_AMEND, _amend),)
    panels = PanelReader(tool_panels)
    buttons = (
        Button(
            "anew",
            "Allow as it is described now",
            Act.AGENT_TOOL_AMEND,
            amend_agent_tool,
            done="Allowed. The next session is offered it as it is described now.",
            consequence="The next session of agent {agent} is offered it as its server describes it now.",
            form=ReallowToolForm,
            initial=_current_description,
            when=_has_changed,
            tone="primary",
            folded=False,
        ),
        Button(
            "withdraw",
            "Withdraw",
            Act.AGENT_TOOL_WITHDRAW,
            withdraw_tool,
            done="Withdrawn. The agent can no longer call it.",
            consequence="Agent {agent} calls it no more, from its next turn on.",
            form=OptionalReasonForm,
            tone="danger",
            leads_to=_page_of_agent,
        ),
    )

    name = column("Tool", str, ordering="tool__qualified_name")
    state = column("State", offer_state)
