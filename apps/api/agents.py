"""Agents as people and the agents themselves see them."""

from django.db.models import QuerySet
from rest_framework.exceptions import ValidationError
from rest_framework.serializers import CharField, IntegerField

from apps.api.filters import CharFilter, FilterSet, SearchFilter
from apps.api.rows import STAMPS, Shown
from apps.api.versions import Versioned
from apps.governance.actors import Actor
from apps.tenants.models import Agent


class AgentRow(Shown[Agent]):
    """One agent of the tenant."""

    agent_key = CharField(source="key", read_only=True)
    endpoint_id = IntegerField(read_only=True, allow_null=True, help_text="Null: the installation's endpoint.")

    distil_endpoint_mid_id = IntegerField(read_only=True, allow_null=True, help_text="Null: the installation's.")
    distil_endpoint_long_id = IntegerField(read_only=True, allow_null=True, help_text="Null: the installation's.")

    class Meta:
        model = Agent
        fields = (
            "id",
            "agent_key",
            "title",
            "model",
            "fallback_model",
            "endpoint_id",
            "contract",
            "learns",
            "session_idle_seconds",
            "max_session_age_seconds",
            "flavour",
            "context_tier",
            "skill_index",
            "tells_time",
            "send_mode",
            "max_steps",
            "burst_seconds",
            "while_thinking",
            "plans_schedules",
            "shows_figures",
            "edits_memory",
            "tends_skills",
            "reflects",
            "keeps_notebook",
            "shows_examples",
            "distils",
            "distils_short",
            "distils_mid",
            "distils_long",
            "distil_model_mid",
            "distil_endpoint_mid_id",
            "distil_model_long",
            "distil_endpoint_long_id",
            "turn_budget_micro_usd",
            *STAMPS,
        )
        read_only_fields = fields


class KeyFilters(FilterSet):
    """By key."""

    agent_key = CharFilter(field_name="key")
    search = SearchFilter("key", "title")


class AgentView(Versioned[Agent]):
    """The agents a request may speak of: all for people, itself for an agent."""

    queryset = Agent.objects.none()
    serializer_class = AgentRow
    filterset_class = KeyFilters

    def get_queryset(self) -> QuerySet[Agent]:
        """Those of the tenant."""
        return Agent.objects.visible_to(self.actor)


def agent_id_named(agent_key: str | None, actor: Actor) -> int:
    """The agent a body speaks of; an agent that names none speaks of itself."""
    if agent_key is None and actor.agent_id is not None:
        return actor.agent_id
    if agent_key is None:
        raise ValidationError({"agent_key": ["Say which agent this is for."]})
    known = Agent.objects.visible_to(actor).filter(key=agent_key).values_list("pk", flat=True).first()
    if known is None:
        raise ValidationError({"agent_key": [f"There is no agent with the key “{agent_key}”."]})
    return known
