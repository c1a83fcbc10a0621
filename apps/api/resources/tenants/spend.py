"""Cost of model calls by agent and day, with the daily budget (R166). For people."""

from django.db.models import OuterRef, QuerySet, Subquery, Sum
from rest_framework import serializers

from apps.api.framework.base_views import RowViewSet
from apps.api.protocol.filters import AgentFilters, DateFilter
from apps.api.protocol.serializers import RowSerializer, agent_key
from apps.runtime.models import Spend
from apps.tenants.models import TenantSettings


class SpendSerializer(RowSerializer[Spend]):
    """The spend of one agent on one day, in the tenant's time zone."""

    agent_key = agent_key()
    unpriced_calls = serializers.IntegerField(help_text="Calls of models without a known price.")
    learning_unpriced_calls = serializers.IntegerField(read_only=True)
    tenant_cost_micro_usd = serializers.IntegerField(
        read_only=True, help_text="Spend of all agents on that day, learning included."
    )
    day_budget_micro_usd = serializers.IntegerField(
        read_only=True, allow_null=True, help_text="The tenant's current daily budget. Null: no budget."
    )

    class Meta:
        model = Spend
        fields = (
            "id",
            "agent_key",
            "day",
            "calls",
            "unpriced_calls",
            "cost_micro_usd",
            "input_tokens",
            "output_tokens",
            "cache_read_tokens",
            "cache_write_5m_tokens",
            "cache_write_1h_tokens",
            "learning_calls",
            "learning_unpriced_calls",
            "learning_cost_micro_usd",
            "learning_input_tokens",
            "learning_output_tokens",
            "tenant_cost_micro_usd",
            "day_budget_micro_usd",
        )
        read_only_fields = fields


class SpendFilters(AgentFilters):
    """Filter by agent and day."""

    day = DateFilter(help_text="Such as 2026-11-22, in the tenant's time zone.")


class SpendView(RowViewSet[Spend]):
    """Daily spend of the tenant's agents, newest first."""

    queryset = Spend.objects.none()
    serializer_class = SpendSerializer
    filterset_class = SpendFilters
    for_people = True

    def get_queryset(self) -> QuerySet[Spend]:
        """Return the rows with the whole tenant's spend of the day, and its daily budget."""
        days = Spend.objects.filter(tenant_id=self.actor.tenant_id)
        of_day = (
            days.filter(day=OuterRef("day"))
            .order_by()
            .values("day")
            .annotate(sum=Sum("cost_micro_usd") + Sum("learning_cost_micro_usd"))
        )
        settings = TenantSettings.objects.visible_to(self.actor).values("day_budget_micro_usd")
        return days.select_related("agent").annotate(
            tenant_cost_micro_usd=Subquery(of_day.values("sum")), day_budget_micro_usd=Subquery(settings[:1])
        )
