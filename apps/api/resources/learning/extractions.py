"""Extractions: the result of learning for each resolved conversation (R110, R117). For people."""

from django.db.models import QuerySet
from rest_framework import serializers

from apps.api.framework.base_views import RowViewSet
from apps.api.protocol.filters import AgentFilters, BooleanFilter, ChoiceFilter, IdFilter, SearchFilter
from apps.api.protocol.serializers import RowSerializer, agent_key
from apps.learning.extraction.models import Extraction


class ExtractionSerializer(RowSerializer[Extraction]):
    """One verdict with its reason."""

    agent_key = agent_key()
    conversation_id = serializers.IntegerField(read_only=True)
    skill_id = serializers.IntegerField(read_only=True, allow_null=True)

    class Meta:
        model = Extraction
        fields = (
            "id",
            "agent_key",
            "conversation_id",
            "verdict",
            "reason",
            "skill_id",
            "masked_counts",
            "model",
            "is_stand_in",
            "input_tokens",
            "output_tokens",
            "cost_micro_usd",
            "created_at",
        )
        read_only_fields = fields


class ExtractionFilters(AgentFilters):
    """Filter by agent, conversation and verdict."""

    conversation_id = IdFilter()
    verdict = ChoiceFilter(choices=Extraction.Verdict.choices)
    is_stand_in = BooleanFilter(help_text="True: the verdict is the stand-in model's.")
    search = SearchFilter("conversation__conversation_key", "reason")


class ExtractionView(RowViewSet[Extraction]):
    """Extractions of the tenant."""

    queryset = Extraction.objects.none()
    serializer_class = ExtractionSerializer
    filterset_class = ExtractionFilters
    for_people = True

    def get_queryset(self) -> QuerySet[Extraction]:
        """Return every row; the view is for people only."""
        return Extraction.objects.filter(tenant_id=self.actor.tenant_id).select_related("agent")
