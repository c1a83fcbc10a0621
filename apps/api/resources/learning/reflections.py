"""Reflections: the lessons of each agent's day (R119). For people."""

from django.db.models import QuerySet
from rest_framework import serializers

from apps.api.framework.base_views import RowViewSet
from apps.api.protocol.filters import AgentFilters, BooleanFilter, ChoiceFilter, SearchFilter
from apps.api.protocol.serializers import RowSerializer, agent_key
from apps.learning.reflection.models import Reflection


class ReflectionSerializer(RowSerializer[Reflection]):
    """One day of an agent, with the result and its reason."""

    agent_key = agent_key()
    conversation_ids = serializers.ListField(child=serializers.IntegerField(), read_only=True)
    proposal_ids = serializers.ListField(child=serializers.IntegerField(), read_only=True)
    skill_ids = serializers.ListField(child=serializers.IntegerField(), read_only=True)

    class Meta:
        model = Reflection
        fields = (
            "id",
            "agent_key",
            "day",
            "verdict",
            "reason",
            "conversation_ids",
            "skill_ids",
            "proposal_ids",
            "failures",
            "model",
            "is_stand_in",
            "input_tokens",
            "output_tokens",
            "cost_micro_usd",
            "created_at",
        )
        read_only_fields = fields


class ReflectionFilters(AgentFilters):
    """Filter by agent and verdict."""

    verdict = ChoiceFilter(choices=Reflection.Verdict.choices)
    is_stand_in = BooleanFilter(help_text="True: the reflection is the stand-in model's.")
    search = SearchFilter("reason")


class ReflectionView(RowViewSet[Reflection]):
    """Reflections of the tenant."""

    queryset = Reflection.objects.none()
    serializer_class = ReflectionSerializer
    filterset_class = ReflectionFilters
    for_people = True

    def get_queryset(self) -> QuerySet[Reflection]:
        """Return every row; the view is for people only."""
        return Reflection.objects.filter(tenant_id=self.actor.tenant_id).select_related("agent")
