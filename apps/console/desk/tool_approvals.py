"""Tool approvals: calls that wait for a person, with their arguments and the conversation they came up in."""

import json
from typing import Any

from django.http import HttpRequest
from unfold.widgets import UnfoldAdminTextareaWidget

from apps.console.desk.desk_worklists import recent_lines
from apps.console.framework.forms import DecisionForm, VerbatimTextField
from apps.console.framework.governed_admin import GovernedAdmin
from apps.console.framework.page_actions import Button, PanelReader, Tabs
from apps.console.framework.request_context import actor_of
from apps.governance.policy.policy_table import Act
from apps.runtime.tools.tool_approvals import forbid_call, permit_call
from apps.tools.models import REASON_CHARACTERS, ToolApproval

Status = ToolApproval.Status


class RefuseCallForm(DecisionForm):
    """The reason to refuse a call."""

    reason = VerbatimTextField(
        label="Why not",
        max_length=REASON_CHARACTERS,
        help_text="The agent reads it, and tells the customer.",
        widget=UnfoldAdminTextareaWidget(attrs={"rows": 2}),
    )


def call_panels(approval: Any, request: HttpRequest) -> dict[str, Any]:
    """Return the arguments as they would be sent, and the end of the conversation."""
    sent = json.dumps(approval.arguments, indent=2, ensure_ascii=False, sort_keys=True)
    return {"sent": sent, **recent_lines(approval.conversation, actor_of(request))}


def _is_waiting(approval: ToolApproval) -> bool:
    return bool(approval.status == Status.WAITING)


def _may_be_refused(approval: ToolApproval) -> bool:
    return approval.status in {Status.WAITING, Status.APPROVED}


class ToolApprovalAdmin(GovernedAdmin):
    """Tool approvals: calls that wait come first; the others stay readable."""

    list_display = ("tool_name", "agent", "updated", "state_shown")
    list_filter = ("agent",)
    list_select_related = ("agent", "conversation", "conversation__agent")
    search_fields = ("tool_name",)
    search_help_text = "Search the tool's name"
    tabs = Tabs("status", tuple(Status.choices), first=Status.WAITING)
    empty = (
        "No call waits here. Tools of others that do more than read are called once somebody has said yes to that call."
    )
    fields = ()
    change_form_template = "console/desk/tool_approval.html"
    panels = PanelReader(call_panels)
    buttons = (
        Button(
            "approve",
            "Approve this call",
            Act.TOOL_APPROVAL_APPROVE,
            permit_call,
            done="Approved. The agent is notified and may make this call once.",
            consequence="Agent {agent} may make exactly this call, once, and is told to make it now.",
            when=_is_waiting,
            tone="primary",
            folded=False,
        ),
        Button(
            "refuse",
            "Refuse",
            Act.TOOL_APPROVAL_REFUSE,
            forbid_call,
            done="Refused. The agent is notified and tells the customer.",
            consequence="The call is not made. The agent is told why and tells the customer.",
            form=RefuseCallForm,
            when=_may_be_refused,
            tone="danger",
        ),
    )
