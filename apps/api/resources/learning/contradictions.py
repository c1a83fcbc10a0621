"""Contradictions: pairs of lines that cannot both be right, and the decisions of people on them (R089). For people."""

from typing import ClassVar

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.framework.base_views import RowViewSet
from apps.api.framework.row_actions import decision_action
from apps.api.protocol.filters import AgentFilters, ChoiceFilter, SearchFilter
from apps.api.protocol.request_bodies import ReasonedDecisionBody
from apps.api.protocol.serializers import STAMP_FIELDS, RowSerializer, agent_key
from apps.governance.policy.policy_table import Act
from apps.learning.contradictions.actions import dismiss_contradiction, reopen_contradiction
from apps.learning.contradictions.models import Contradiction
from apps.learning.contradictions.scan_runs import request_scan


class ContradictionSerializer(RowSerializer[Contradiction]):
    """Two lines with their locations, and whether the contradiction is open, was dismissed, or ended because a line changed."""

    agent_key = agent_key()
    first_id = serializers.IntegerField(read_only=True)
    second_id = serializers.IntegerField(
        read_only=True, allow_null=True, help_text="Null: the second text is a tool that is not allowed."
    )

    class Meta:
        model = Contradiction
        fields = (
            *("id", "agent_key", "kind", "conflicting_words", "first_type", "first_id", "first_location", "first_text"),
            *("second_type", "second_id", "second_location", "second_text", "status", "last_seen_at"),
            *("dismissal_reason", "decided_by", "decided_at", *STAMP_FIELDS, "ignored_fields"),
        )
        read_only_fields = fields


class ContradictionFilters(AgentFilters):
    """Filter by agent, kind and state."""

    kind = ChoiceFilter(choices=Contradiction.Kinds.choices)
    status = ChoiceFilter(choices=Contradiction.Status.choices)
    search = SearchFilter("first_text", "second_text", "agent__key")


class ContradictionView(RowViewSet[Contradiction]):
    """Contradictions that the nightly scan found. People read and decide."""

    acts: ClassVar = {
        "dismiss": (Act.CONTRADICTION_DISMISS,),
        "reopen": (Act.CONTRADICTION_REOPEN,),
        "scan": (Act.CONTRADICTION_SCAN,),
    }
    queryset = Contradiction.objects.none()
    in_bulk = ("dismiss", "reopen", "scan")
    serializer_class = ContradictionSerializer
    filterset_class = ContradictionFilters
    for_people = True

    def get_queryset(self) -> QuerySet[Contradiction]:
        """Return every row; the view is for people only."""
        return Contradiction.objects.visible_to(self.actor).select_related("agent")

    dismiss = decision_action(
        "dismiss",
        Act.CONTRADICTION_DISMISS,
        dismiss_contradiction,
        ContradictionSerializer,
        "Dismiss the contradiction: both lines may stay as long as neither changes.",
        ReasonedDecisionBody,
    )
    reopen = decision_action(
        "reopen",
        Act.CONTRADICTION_REOPEN,
        reopen_contradiction,
        ContradictionSerializer,
        "Reopen a dismissed contradiction.",
    )

    @extend_schema(request=None, responses=ContradictionSerializer)
    @action(detail=True, methods=["post"])
    def scan(self, request: Request, pk: str) -> Response:
        """Scan the agent's lines within a minute. Read the row again afterwards."""
        row = self.get_object()
        request_scan(row.agent_id, actor=self.actor)
        return self.answer(row.pk, [])
