"""Agent handoffs: the other agents of the tenant that an agent may ask (R057). Agents read their own; people decide."""

from typing import ClassVar

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import CharField

from apps.api.framework.base_views import RowViewSet
from apps.api.protocol.filters import AgentFilters, SearchFilter
from apps.api.protocol.request_bodies import RequestBody, StrictIntegerField, StrictTextField
from apps.api.protocol.serializers import STAMP_FIELDS, RowSerializer, agent_key
from apps.api.resources.agents.agents import agent_id_named
from apps.governance.policy.policy_table import Act
from apps.tenants.actions import allow_invokable, amend_invokable, withdraw_invokable
from apps.tenants.models import InvokableAgent

BUDGET_HELP = (
    "Highest cost of one answer, in millionths of a US dollar. Null: half of the asking turn's remaining budget."
)


class InvokableSerializer(RowSerializer[InvokableAgent]):
    """Another agent that an agent may ask."""

    agent_key = agent_key()
    callee_key = CharField(source="callee.key", read_only=True)

    class Meta:
        model = InvokableAgent
        fields = ("id", "agent_key", "callee_key", "role_hint", "budget_micro_usd", *STAMP_FIELDS, "ignored_fields")
        read_only_fields = fields


class AllowInvokableBody(RequestBody):
    """The asking agent, the agent it may ask, and the purpose."""

    acts = (Act.INVOKABLE_ALLOW,)
    shown = frozenset(InvokableSerializer.Meta.fields)

    agent_key = StrictTextField()
    callee_key = StrictTextField()
    role_hint = StrictTextField(required=False, help_text="What to ask it for, in one line.")
    budget_micro_usd = StrictIntegerField(required=False, allow_null=True, min_value=1, help_text=BUDGET_HELP)


class UpdateInvokableBody(RequestBody):
    """A new purpose or budget. The two agents cannot be changed."""

    acts = (Act.INVOKABLE_AMEND,)
    shown = frozenset(InvokableSerializer.Meta.fields)
    whole = ("role_hint", "budget_micro_usd")

    role_hint = StrictTextField(required=False)
    budget_micro_usd = StrictIntegerField(required=False, allow_null=True, min_value=1, help_text=BUDGET_HELP)
    version = StrictIntegerField(required=False, help_text="The row's version that was read.")


class InvokableFilters(AgentFilters):
    """Filter by agent and words."""

    search = SearchFilter("agent__key", "callee__key", "role_hint")


class InvokableView(RowViewSet[InvokableAgent]):
    """The permissions of the tenant's agents to ask each other."""

    acts: ClassVar = {
        "create": (Act.INVOKABLE_ALLOW,),
        "partial_update": (Act.INVOKABLE_AMEND,),
        "destroy": (Act.INVOKABLE_WITHDRAW,),
    }
    queryset = InvokableAgent.objects.none()
    serializer_class = InvokableSerializer
    filterset_class = InvokableFilters
    for_people = True

    def get_queryset(self) -> QuerySet[InvokableAgent]:
        """Return the rows of the tenant."""
        return InvokableAgent.objects.visible_to(self.actor).select_related("agent", "callee")

    @extend_schema(request=AllowInvokableBody, responses={201: InvokableSerializer})
    def create(self, request: Request) -> Response:
        """Allow an agent to ask another one. Its next session lists the other agent."""
        sent = AllowInvokableBody.read(request, self.actor)
        asking, asked = (agent_id_named(sent.values[name], self.actor) for name in ("agent_key", "callee_key"))
        row = allow_invokable(asking, asked, actor=self.actor, **sent.only("role_hint", "budget_micro_usd"))
        return self.answer(row.pk, sent.ignored, 201)

    @extend_schema(request=UpdateInvokableBody, responses=InvokableSerializer)
    def partial_update(self, request: Request, pk: str) -> Response:
        """Change the purpose, or the highest cost of an answer."""
        row = self.get_object()
        sent = UpdateInvokableBody.read(request, self.actor, row)
        values = sent.only("role_hint", "budget_micro_usd")
        amend_invokable(row, actor=self.actor, read_at=sent.read_at, **values)
        return self.answer(row.pk, sent.ignored)

    @extend_schema(request=UpdateInvokableBody, responses=InvokableSerializer)
    def update(self, request: Request, pk: str) -> Response:
        """Replace the row: send every field."""
        return self.partial_update(request, pk)

    @extend_schema(responses={204: None})
    def destroy(self, request: Request, pk: str) -> Response:
        """Withdraw the permission. Open sessions still list the other agent, but asking it is refused."""
        withdraw_invokable(self.get_object(), actor=self.actor)
        return Response(status=204)
