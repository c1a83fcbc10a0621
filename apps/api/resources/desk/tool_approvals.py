"""Calls of others' tools that wait for a person. People only."""

from typing import ClassVar

from django.db.models import QuerySet
from rest_framework.serializers import IntegerField

from apps.api.framework.base_views import Rows
from apps.api.framework.row_actions import deciding
from apps.api.protocol.filters import AgentFilters, ChoiceFilter, SearchFilter
from apps.api.protocol.request_bodies import AsRead, ReasonedDecision
from apps.api.protocol.serializers import STAMPS, Shown, agent_key
from apps.governance.policy.table import Act
from apps.runtime.tools.tool_approvals import forbid_call, let_call
from apps.tools.models import ToolApproval


class ToolApprovalRow(Shown[ToolApproval]):
    """What would be called with what, and what became of it."""

    agent_key = agent_key()
    conversation_id = IntegerField(read_only=True)

    class Meta:
        model = ToolApproval
        fields = (
            *("id", "agent_key", "conversation_id", "tool_name", "arguments", "status", "reason"),
            *("decided_by", "decided_at", *STAMPS, "ignored_fields"),
        )
        read_only_fields = fields


class ToolApprovalFilters(AgentFilters):
    """By agent and state."""

    status = ChoiceFilter(choices=ToolApproval.Status.choices)
    search = SearchFilter("tool_name")


class ToolApprovalView(Rows[ToolApproval]):
    """Calls that wait for a person, and those that were decided."""

    acts: ClassVar = {"approve": (Act.TOOL_APPROVAL_APPROVE,), "refuse": (Act.TOOL_APPROVAL_REFUSE,)}
    queryset = ToolApproval.objects.none()
    serializer_class = ToolApprovalRow
    filterset_class = ToolApprovalFilters
    keeps_words = False
    for_people = True

    def get_queryset(self) -> QuerySet[ToolApproval]:
        """Those of the tenant."""
        return ToolApproval.objects.visible_to(self.actor).select_related("agent", "conversation")

    approve = deciding(
        "approve",
        Act.TOOL_APPROVAL_APPROVE,
        let_call,
        ToolApprovalRow,
        "Let it be made, once, as it stands there; the agent is told.",
        AsRead,
    )
    refuse = deciding(
        "refuse",
        Act.TOOL_APPROVAL_REFUSE,
        forbid_call,
        ToolApprovalRow,
        "Let it not be made; the agent is told why.",
        ReasonedDecision,
    )
