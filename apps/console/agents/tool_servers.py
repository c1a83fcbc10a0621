"""Tool servers, their headers (which are never shown again), and the tools they offer."""

import json
from operator import attrgetter
from typing import Any

from django.contrib import admin, messages
from django.contrib.admin import AdminSite
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from unfold.widgets import UnfoldAdminTextareaWidget

from apps.console.framework.form_errors import rerender_row_page, status_of
from apps.console.framework.forms import DecisionForm, VerbatimTextField
from apps.console.framework.governed_admin import GovernedAdmin
from apps.console.framework.list_columns import column
from apps.console.framework.page_actions import Button, CreateAction, EditAction, PanelReader
from apps.console.framework.request_context import actor_of
from apps.governance.errors import GovernanceError
from apps.governance.governed_write import may
from apps.governance.policy.policy_table import Act
from apps.runtime.tools.tool_server_refresh import refresh_server
from apps.tools.actions import amend_tool_server, create_tool_server, rotate_tool_server_headers
from apps.tools.models import AgentTool, ServerTool, ToolServer
from apps.tools.tool_limits import ServerToolDefinition

SERVER_FIELDS = ("title", "url", "is_active", "timeout_seconds", "max_result_bytes")


class NewHeadersForm(DecisionForm):
    """New headers, which are not shown again."""

    headers = VerbatimTextField(
        required=False,
        label="New headers",
        help_text="One to a line, such as Authorization: Bearer and the key. Stored encrypted and never shown again."
        " Empty: none any more.",
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 3}),
    )


def server_panels(server: Any, request: HttpRequest) -> dict[str, Any]:
    """Return the tools of the server, the agents that may call them, and the address that refreshes the list."""
    actor = actor_of(request)
    allowed: dict[int, list[AgentTool]] = {}
    for row in AgentTool.objects.visible_to(actor).filter(tool__server=server).select_related("agent", "tool__server"):
        allowed.setdefault(row.tool_id, []).append(row)
    tools = ServerTool.objects.visible_to(actor).filter(server=server).order_by("-is_listed", "qualified_name")
    return {
        "listing": getattr(server, "listing", None),
        "tools": [_tool_context(tool, allowed.get(tool.pk, [])) for tool in tools],
        "may_allow": may(actor, Act.AGENT_TOOL_ALLOW),
        "may_refresh": may(actor, Act.TOOL_SERVER_REFRESH, row=server),
        "refresh_url": reverse("admin:refresh_server", args=[server.pk]),
        "allow_url": reverse("admin:tools_agenttool_add"),
    }


def _tool_context(tool: ServerTool, allowed: list[AgentTool]) -> dict[str, Any]:
    definition = tool.defined
    return {
        "row": tool,
        "definition": definition,
        "shape": schema_text(definition) if definition else "",
        "allowed": allowed,
    }


def schema_text(definition: ServerToolDefinition) -> str:
    """Return the input schema of a tool as indented JSON."""
    return json.dumps(definition.input_schema, indent=2, ensure_ascii=False)


def refresh_page(request: HttpRequest, server_id: int, site: AdminSite) -> HttpResponse:
    """Ask the server for its tools. This page runs outside the request's transaction: no lock is held during the call."""
    page = reverse("admin:tools_toolserver_change", args=[server_id])
    if request.method != "POST":
        return HttpResponseRedirect(page)
    try:
        asked = refresh_server(server_id, actor=actor_of(request))
    except GovernanceError as refusal:
        messages.error(request, str(refusal))
        return rerender_row_page(request, ToolServer, server_id, status_of(refusal), site)
    tell = messages.success if asked.has_answered else messages.error
    tell(request, asked.sentence)
    return HttpResponseRedirect(page, status=303)


def _headers_message(server: ToolServer) -> str:
    if server.has_headers:
        return "The new headers are saved. Calls from now on send them."
    return "Calls no longer send headers."


class ToolServerAdmin(GovernedAdmin):
    """Servers whose tools agents may be allowed to call."""

    list_display = ("key", "title", "url", "is_active", "headers_kept", "listed", "updated")
    list_select_related = ("listing",)
    search_fields = ("key", "title", "url")
    search_help_text = "Search key, title or address"
    empty = "No tool server yet. Add one, give it its headers, ask what it offers, and allow an agent what it needs."
    add_fields = ("key", *SERVER_FIELDS)
    fields = SERVER_FIELDS
    change_form_template = "console/agents/tool_server.html"
    saved = "Saved. Calls from now on use it. If the server changed, its headers were removed: enter them again."
    creates = CreateAction(Act.TOOL_SERVER_CREATE, create_tool_server, add_fields)
    amends = (EditAction(Act.TOOL_SERVER_AMEND, amend_tool_server),)
    panels = PanelReader(server_panels)
    buttons = (
        Button(
            "headers",
            "Rotate the headers",
            Act.TOOL_SERVER_ROTATE_HEADERS,
            rotate_tool_server_headers,
            done=_headers_message,
            consequence="Calls from now on send the new headers; turns under way end with the old ones.",
            form=NewHeadersForm,
            tone="primary",
        ),
    )

    headers_kept = column("Headers kept", attrgetter("has_headers"), boolean=True)

    @admin.display(description="What it offers")
    def listed(self, server: Any) -> str:
        listing = getattr(server, "listing", None)
        if listing is None:
            return "not asked yet"
        return "cannot be asked" if listing.failure else "known"
