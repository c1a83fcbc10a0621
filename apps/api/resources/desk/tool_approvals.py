"""Calls of external tools that wait for approval. People only."""

from typing import ClassVar

from django.db.models import QuerySet
from rest_framework.serializers import IntegerField

from apps.api.framework.base_views import RowViewSet
from apps.api.framework.row_actions import decision_action
from apps.api.protocol.filters import AgentFilters, ChoiceFilter, SearchFilter
from apps.api.protocol.request_bodies import OptionalVersionBody, ReasonedDecisionBody
from apps.api.protocol.serializers import STAMP_FIELDS, RowSerializer, agent_key
from apps.governance.policy.policy_table import Act
from apps.runtime.tools.tool_approvals import forbid_call, permit_call
from apps.tools.models import ToolApproval


class ToolApprovalSerializer(RowSerializer[ToolApproval]):
    """A tool call with its arguments, and its result."""

    agent_key = agent_key()
    conversation_id = IntegerField(read_only=True)

    class Meta:
        model = ToolApproval
        fields = (
            *("id", "agent_key", "conversation_id", "tool_name", "arguments", "status", "reason"),
            *("decided_by", "decided_at", *STAMP_FIELDS, "ignored_fields"),
        )
        read_only_fields = fields


class ToolApprovalFilters(AgentFilters):
    """Filter by agent and state."""

    status = ChoiceFilter(choices=ToolApproval.Status.choices)
    search = SearchFilter("tool_name")


class ToolApprovalView(RowViewSet[ToolApproval]):
    """Calls that wait for approval, and those that were decided."""

    acts: ClassVar = {"approve": (Act.TOOL_APPROVAL_APPROVE,), "refuse": (Act.TOOL_APPROVAL_REFUSE,)}
    queryset = ToolApproval.objects.none()
    serializer_class = ToolApprovalSerializer
    filterset_class = ToolApprovalFilters
    keeps_words = False
    for_people = True

    def get_queryset(self) -> QuerySet[ToolApproval]:
        """Return the rows of the tenant."""
        return ToolApproval.objects.visible_to(self.actor).select_related("agent", "conversation")

    approve = decision_action(
        "approve",
        Act.TOOL_APPROVAL_APPROVE,
        permit_call,
        ToolApprovalSerializer,
        "Approve the call. It is made once, exactly as shown, and the agent is notified.",
        OptionalVersionBody,
    )
    refuse = decision_action(
        "refuse",
        Act.TOOL_APPROVAL_REFUSE,
        forbid_call,
        ToolApprovalSerializer,
        "Refuse the call. The agent gets the reason.",
        ReasonedDecisionBody,
    )
