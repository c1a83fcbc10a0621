"""Contradictions: which lines that agents go by cannot both be right, and what people said of it (R089). For people."""

from typing import ClassVar

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.framework.base_views import Rows
from apps.api.framework.row_actions import deciding
from apps.api.protocol.filters import AgentFilters, ChoiceFilter, SearchFilter
from apps.api.protocol.request_bodies import Body, Number, Text
from apps.api.protocol.serializers import STAMPS, Shown, agent_key
from apps.governance.policy.table import Act
from apps.learning.contradictions.actions import dismiss_contradiction, reopen_contradiction
from apps.learning.contradictions.models import Contradiction
from apps.learning.contradictions.scan_runs import ask_for_look

READ = "The contradiction's version that was read."


class ContradictionRow(Shown[Contradiction]):
    """Two lines, where each stands, and whether people were asked, dismissed it, or one of the lines changed."""

    agent_key = agent_key()
    first_id = serializers.IntegerField(read_only=True)
    second_id = serializers.IntegerField(read_only=True, allow_null=True, help_text="Null: a tool that is not allowed.")

    class Meta:
        model = Contradiction
        fields = (
            *("id", "agent_key", "kind", "conflicting_words", "first_type", "first_id", "first_location", "first_text"),
            *("second_type", "second_id", "second_location", "second_text", "status", "last_seen_at"),
            *("dismissal_reason", "decided_by", "decided_at", *STAMPS, "ignored_fields"),
        )
        read_only_fields = fields


class DismissedBecause(Body):
    """Why both lines may stay."""

    bare = True

    dismissal_reason = Text()
    version = Number(required=False, help_text=READ)


class ContradictionFilters(AgentFilters):
    """By agent, kind and state."""

    kind = ChoiceFilter(choices=Contradiction.Kinds.choices)
    status = ChoiceFilter(choices=Contradiction.Status.choices)
    search = SearchFilter("first_text", "second_text", "agent__key")


class ContradictionView(Rows[Contradiction]):
    """What the nightly look found; people read and decide."""

    acts: ClassVar = {
        "dismiss": (Act.CONTRADICTION_DISMISS,),
        "reopen": (Act.CONTRADICTION_REOPEN,),
        "scan": (Act.CONTRADICTION_SCAN,),
    }
    queryset = Contradiction.objects.none()
    in_bulk = ("dismiss", "reopen", "scan")
    serializer_class = ContradictionRow
    filterset_class = ContradictionFilters
    for_people = True

    def get_queryset(self) -> QuerySet[Contradiction]:
        """All of them, for a reviewer."""
        return Contradiction.objects.visible_to(self.actor).select_related("agent")

    @extend_schema(request=DismissedBecause, responses=ContradictionRow)
    @action(detail=True, methods=["post"])
    def dismiss(self, request: Request, pk: str) -> Response:
        """Say that both lines may stay, for as long as both say the same."""
        del pk
        row = self.get_object()
        sent = DismissedBecause.read(request, self.actor)
        dismiss_contradiction(
            row, actor=self.actor, dismissal_reason=sent.values["dismissal_reason"], read_at=sent.read_at
        )
        return self.answer(row.pk, sent.ignored)

    reopen = deciding(
        "reopen", Act.CONTRADICTION_REOPEN, reopen_contradiction, ContradictionRow, "Take a dismissal back."
    )

    @extend_schema(request=None, responses=ContradictionRow)
    @action(detail=True, methods=["post"])
    def scan(self, request: Request, pk: str) -> Response:
        """Have the agent's lines looked at within a minute; read the row again then."""
        del request, pk
        row = self.get_object()
        ask_for_look(row.agent_id, actor=self.actor)
        return self.answer(row.pk, [])
