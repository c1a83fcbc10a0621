"""Who may ask whom: the other agents of the tenant that an agent may turn to (R057). Agents read their own; people decide."""

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

BUDGET_HELP = "What one answer may cost, in millionths of a US dollar. Null: half of what the asking turn has left."


class InvokableSerializer(RowSerializer[InvokableAgent]):
    """One agent that another may ask."""

    agent_key = agent_key()
    callee_key = CharField(source="callee.key", read_only=True)

    class Meta:
        model = InvokableAgent
        fields = ("id", "agent_key", "callee_key", "role_hint", "budget_micro_usd", *STAMP_FIELDS, "ignored_fields")
        read_only_fields = fields


class AllowInvokableBody(RequestBody):
    """Who may ask whom, and for what."""

    acts = (Act.INVOKABLE_ALLOW,)
    shown = frozenset(InvokableSerializer.Meta.fields)

    agent_key = StrictTextField()
    callee_key = StrictTextField()
    role_hint = StrictTextField(required=False, help_text="What to ask it for, in one line.")
    budget_micro_usd = StrictIntegerField(required=False, allow_null=True, min_value=1, help_text=BUDGET_HELP)


class UpdateInvokableBody(RequestBody):
    """What it is asked for from now on; who asks whom stays."""

    acts = (Act.INVOKABLE_AMEND,)
    shown = frozenset(InvokableSerializer.Meta.fields)
    whole = ("role_hint", "budget_micro_usd")

    role_hint = StrictTextField(required=False)
    budget_micro_usd = StrictIntegerField(required=False, allow_null=True, min_value=1, help_text=BUDGET_HELP)
    version = StrictIntegerField(required=False, help_text="The row's version that was read.")


class InvokableFilters(AgentFilters):
    """By agent and words."""

    search = SearchFilter("agent__key", "callee__key", "role_hint")


class InvokableView(RowViewSet[InvokableAgent]):
    """Who may ask whom in the tenant."""

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
        """Those of the tenant."""
        return InvokableAgent.objects.visible_to(self.actor).select_related("agent", "callee")

    @extend_schema(request=AllowInvokableBody, responses={201: InvokableSerializer})
    def create(self, request: Request) -> Response:
        """Let an agent ask another one. Its next session names it."""
        sent = AllowInvokableBody.read(request, self.actor)
        asking, asked = (agent_id_named(sent.values[name], self.actor) for name in ("agent_key", "callee_key"))
        row = allow_invokable(asking, asked, actor=self.actor, **sent.only("role_hint", "budget_micro_usd"))
        return self.answer(row.pk, sent.ignored, 201)

    @extend_schema(request=UpdateInvokableBody, responses=InvokableSerializer)
    def partial_update(self, request: Request, pk: str) -> Response:
        """Say anew what it is asked for, and what an answer may cost."""
        row = self.get_object()
        sent = UpdateInvokableBody.read(request, self.actor, row)
        values = sent.only("role_hint", "budget_micro_usd")
        amend_invokable(row, actor=self.actor, read_at=sent.read_at, **values)
        return self.answer(row.pk, sent.ignored)

    @extend_schema(request=UpdateInvokableBody, responses=InvokableSerializer)
    def update(self, request: Request, pk: str) -> Response:
        """The same, whole."""
        return self.partial_update(request, pk)

    @extend_schema(responses={204: None})
    def destroy(self, request: Request, pk: str) -> Response:
        """No longer let it ask. Sessions already open still name the other one, which refuses."""
        withdraw_invokable(self.get_object(), actor=self.actor)
        return Response(status=204)
