"""Calls of others' tools that wait for a person. People only."""

from typing import ClassVar

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import IntegerField

from apps.api.bodies import AsRead, ReasonedDecision
from apps.api.filters import AgentFilters, ChoiceFilter, SearchFilter
from apps.api.rows import STAMPS, Shown, agent_key
from apps.api.views import Rows
from apps.governance.policy import Act
from apps.runtime.tool_approvals import forbid_call, let_call
from apps.tools.models import ToolApproval


class ToolApprovalRow(Shown[ToolApproval]):
    """What would be called with what, and what became of it."""

    agent_key = agent_key()
    conversation_id = IntegerField(read_only=True)

    class Meta:
        model = ToolApproval
        fields = (
            *("id", "agent_key", "conversation_id", "called", "arguments", "status", "reason"),
            *("decided_by", "decided_at", *STAMPS, "ignored_fields"),
        )
        read_only_fields = fields


class ToolApprovalFilters(AgentFilters):
    """By agent and state."""

    status = ChoiceFilter(choices=ToolApproval.Status.choices)
    search = SearchFilter("called")


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

    @extend_schema(request=AsRead, responses=ToolApprovalRow)
    @action(detail=True, methods=["post"])
    def approve(self, request: Request, pk: str) -> Response:
        """Let it be made, once, as it stands there; the agent is told."""
        del pk
        approval = self.get_object()
        sent = AsRead.read(request, self.actor)
        let_call(approval, actor=self.actor, read_at=sent.read_at)
        return self.answer(approval.pk, sent.ignored)

    @extend_schema(request=ReasonedDecision, responses=ToolApprovalRow)
    @action(detail=True, methods=["post"])
    def refuse(self, request: Request, pk: str) -> Response:
        """Let it not be made; the agent is told why."""
        del pk
        approval = self.get_object()
        sent = ReasonedDecision.read(request, self.actor)
        forbid_call(approval, actor=self.actor, reason=sent.reason, read_at=sent.read_at)
        return self.answer(approval.pk, sent.ignored)
