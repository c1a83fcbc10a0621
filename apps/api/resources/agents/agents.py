"""Agents, as people and the agents themselves see them."""

from dataclasses import asdict
from typing import Any, ClassVar, Final

from django.db.models import QuerySet
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import CharField, IntegerField

from apps.api.framework.row_actions import decision_action
from apps.api.framework.versions import VersionedViewSet
from apps.api.protocol.filters import CharFilter, FilterSet, SearchFilter
from apps.api.protocol.request_bodies import (
    DecisionBody,
    ParsedBody,
    RequestBody,
    StrictBooleanField,
    StrictIntegerField,
    StrictTextField,
    rename_error_fields,
)
from apps.api.protocol.serializers import STAMP_FIELDS, RowSerializer
from apps.governance.actors import Actor
from apps.governance.governed_write import authorize
from apps.governance.policy.policy_table import Act
from apps.runtime.explain.session_ending import cost_of_ending
from apps.tenants.actions import amend_agent, create_agent, end_sessions
from apps.tenants.models import Agent, Endpoint

ENDPOINT_FIELDS: Final = frozenset({"endpoint", "distil_endpoint_mid", "distil_endpoint_long"})


class AgentSerializer(RowSerializer[Agent]):
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
            "has_learning",
            "session_idle_seconds",
            "max_session_age_seconds",
            "flavour",
            "context_tier",
            "skill_index",
            "has_current_time",
            "send_mode",
            "max_steps",
            "debounce_seconds",
            "mid_turn_message_mode",
            "may_propose_schedules",
            "may_show_tables_and_charts",
            "may_edit_memory",
            "may_edit_skills",
            "has_reflection",
            "has_notebook",
            "has_examples",
            "is_memory_distilled",
            "is_short_tier_distilled",
            "is_mid_tier_distilled",
            "is_long_tier_distilled",
            "distil_model_mid",
            "distil_endpoint_mid_id",
            "distil_model_long",
            "distil_endpoint_long_id",
            "turn_budget_micro_usd",
            "delay_notice",
            "channel_delay_notices",
            "sessions_ended_at",
            *(*STAMP_FIELDS, "ignored_fields"),
        )
        read_only_fields = fields


class CreateAgentBody(RequestBody):
    """A new agent with the default settings. PATCH changes how it runs."""

    acts = (Act.AGENT_CREATE,)
    shown = frozenset(AgentSerializer.Meta.fields)

    agent_key = StrictTextField(help_text="Lower-case letters, digits and hyphens. It cannot be changed later.")
    title = StrictTextField()
    has_learning = StrictBooleanField(required=False)


class UpdateAgentBody(RequestBody):
    """Settings of an agent, from its next session on."""

    acts = (Act.AGENT_AMEND,)
    shown = frozenset(AgentSerializer.Meta.fields)
    whole = (
        *("title", "model", "fallback_model", "contract", "distil_model_mid", "distil_model_long"),
        *("delay_notice", "channel_delay_notices"),
    )

    title = StrictTextField(required=False)
    model = StrictTextField(required=False, help_text="Empty: the installation's default.")
    fallback_model = StrictTextField(required=False)
    endpoint = StrictIntegerField(required=False, allow_null=True, help_text="Null: the installation's endpoint.")
    contract = StrictTextField(required=False, help_text="Empty: the contract that ships with the product.")
    has_learning = StrictBooleanField(required=False)
    session_idle_seconds = StrictIntegerField(required=False, allow_null=True)
    max_session_age_seconds = StrictIntegerField(required=False, allow_null=True)
    flavour = StrictTextField(required=False, help_text="`domain` or `assistant`.")
    context_tier = StrictIntegerField(required=False, help_text="1 to 4.")
    skill_index = StrictTextField(required=False, help_text="`lazy` or `full`.")
    has_current_time = StrictBooleanField(required=False)
    send_mode = StrictTextField(required=False, help_text="`autonomous`, `suggest` or `observe`.")
    max_steps = StrictIntegerField(required=False)
    debounce_seconds = StrictIntegerField(required=False, min_value=0)
    mid_turn_message_mode = StrictTextField(required=False, help_text="`next` or `restart`.")
    may_propose_schedules = StrictBooleanField(required=False)
    may_show_tables_and_charts = StrictBooleanField(required=False)
    may_edit_memory = StrictBooleanField(required=False)
    may_edit_skills = StrictBooleanField(required=False)
    has_reflection = StrictBooleanField(required=False)
    has_notebook = StrictBooleanField(required=False)
    has_examples = StrictBooleanField(required=False)
    is_memory_distilled = StrictBooleanField(required=False)
    is_short_tier_distilled = StrictBooleanField(required=False)
    is_mid_tier_distilled = StrictBooleanField(required=False)
    is_long_tier_distilled = StrictBooleanField(required=False)
    distil_model_mid = StrictTextField(required=False)
    distil_endpoint_mid = StrictIntegerField(required=False, allow_null=True, help_text="Id of an endpoint, or null.")
    distil_model_long = StrictTextField(required=False)
    distil_endpoint_long = StrictIntegerField(required=False, allow_null=True, help_text="The same.")
    turn_budget_micro_usd = StrictIntegerField(required=False, allow_null=True, help_text="Null: no budget.")
    delay_notice = StrictTextField(
        required=False,
        help_text="Message that a customer gets once while the day's budget delays the answer. Empty: none.",
    )
    channel_delay_notices = StrictTextField(
        required=False,
        help_text="The same for single channels: one line `channel: sentence` each. A line `channel:` sends nothing there.",
    )
    version = StrictIntegerField(required=False, help_text="The agent's version that was read.")


class OpenSessionsSerializer(serializers.Serializer[Any]):
    """The agent's open sessions, and at most what their new prompts cost the prompt cache if they are ended."""

    sessions = serializers.IntegerField()
    tokens = serializers.IntegerField()
    micro_usd = serializers.IntegerField(allow_null=True, help_text="Null: the model has no price.")


class AgentKeyFilters(FilterSet):
    """Filter by key."""

    agent_key = CharFilter(field_name="key")
    search = SearchFilter("key", "title")


class AgentView(VersionedViewSet[Agent]):
    """People see all agents; an agent sees itself. Admins create and change them."""

    acts: ClassVar = {
        "create": (Act.AGENT_CREATE,),
        "partial_update": (Act.AGENT_AMEND,),
        "end-sessions": (Act.AGENT_END_SESSIONS,),
    }
    queryset = Agent.objects.none()
    serializer_class = AgentSerializer
    filterset_class = AgentKeyFilters

    def get_queryset(self) -> QuerySet[Agent]:
        """Return the rows of the tenant."""
        return Agent.objects.visible_to(self.actor)

    @extend_schema(request=CreateAgentBody, responses={201: AgentSerializer})
    def create(self, request: Request) -> Response:
        """Create an agent. No external program can act as it before a token is issued."""
        authorize(self.actor, Act.AGENT_CREATE, self.actor.tenant_id)
        sent = CreateAgentBody.read(request, self.actor)
        with rename_error_fields(key="agent_key"):
            agent = create_agent(sent.values["agent_key"], actor=self.actor, **sent.only("title", "has_learning"))
        return self.answer(agent.pk, sent.ignored, 201)

    @extend_schema(request=UpdateAgentBody, responses=AgentSerializer)
    def partial_update(self, request: Request, pk: str) -> Response:
        """Change how an agent runs. Open sessions keep the settings they started with."""
        agent = self.get_object()
        # Checked before the endpoints are looked up, because an agent must not see them.
        authorize(self.actor, Act.AGENT_AMEND, agent.tenant_id, agent_id=agent.pk)
        sent = UpdateAgentBody.read(request, self.actor, agent)
        amend_agent(agent, actor=self.actor, read_at=sent.read_at, **_resolve_endpoints(sent, self.actor))
        return self.answer(agent.pk, sent.ignored)

    end_sessions = decision_action(
        "end-sessions",
        Act.AGENT_END_SESSIONS,
        end_sessions,
        AgentSerializer,
        "End the agent's open sessions: the next turn of each conversation freezes a new prompt. People only.",
        DecisionBody,
    )

    @extend_schema(responses=OpenSessionsSerializer)
    @action(detail=True, methods=["get"], url_path="open-sessions")
    def open_sessions(self, request: Request, pk: str) -> Response:
        """Estimate what ending the agent's open sessions costs."""
        authorize(self.actor, Act.AGENT_END_SESSIONS, self.actor.tenant_id, agent_id=int(pk))
        cost = cost_of_ending([self.get_object()], actor=self.actor, now=timezone.now())
        return Response(asdict(cost))

    @extend_schema(request=UpdateAgentBody, responses=AgentSerializer)
    def update(self, request: Request, pk: str) -> Response:
        """Replace the row: send every text."""
        return self.partial_update(request, pk)


def _resolve_endpoints(sent: ParsedBody, actor: Actor) -> dict[str, object]:
    """Return the sent values, with ids of endpoints replaced by the endpoints."""
    values: dict[str, object] = {name: value for name, value in sent.values.items() if name != "version"}
    for name in ENDPOINT_FIELDS & values.keys():
        endpoint_id: int | None = sent.values[name]
        endpoint = Endpoint.objects.visible_to(actor).filter(pk=endpoint_id or 0).first()
        if endpoint_id is not None and endpoint is None:
            raise ValidationError({name: ["There is no endpoint with this id."]})
        values[name] = endpoint
    return values


def agent_id_named(agent_key: str | None, actor: Actor) -> int:
    """Return the id of the agent that a body names; an agent that names none means itself."""
    if agent_key is None and actor.agent_id is not None:
        return actor.agent_id
    if agent_key is None:
        raise ValidationError({"agent_key": ["Send the key of the agent this is for."]})
    known = Agent.objects.visible_to(actor).filter(key=agent_key).values_list("pk", flat=True).first()
    if known is None:
        raise ValidationError({"agent_key": [f"There is no agent with the key “{agent_key}”."]})
    return known
