"""Who may ask whom: the other agents of the tenant that an agent may turn to (R057). Agents read their own; people decide."""

from typing import ClassVar

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import CharField

from apps.api.framework.base_views import Rows
from apps.api.protocol.filters import AgentFilters, SearchFilter
from apps.api.protocol.request_bodies import Body, Number, Text
from apps.api.protocol.serializers import STAMPS, Shown, agent_key
from apps.api.resources.agents.agents import agent_id_named
from apps.governance.policy.table import Act
from apps.tenants.actions import allow_invokable, amend_invokable, withdraw_invokable
from apps.tenants.models import InvokableAgent

BUDGET = "What one answer may cost, in millionths of a US dollar. Null: half of what the asking turn has left."


class InvokableRow(Shown[InvokableAgent]):
    """One agent that another may ask."""

    agent_key = agent_key()
    callee_key = CharField(source="callee.key", read_only=True)

    class Meta:
        model = InvokableAgent
        fields = ("id", "agent_key", "callee_key", "role_hint", "budget_micro_usd", *STAMPS, "ignored_fields")
        read_only_fields = fields


class NewInvokable(Body):
    """Who may ask whom, and for what."""

    acts = (Act.INVOKABLE_ALLOW,)
    shown = frozenset(InvokableRow.Meta.fields)

    agent_key = Text()
    callee_key = Text()
    role_hint = Text(required=False, help_text="What to ask it for, in one line.")
    budget_micro_usd = Number(required=False, allow_null=True, min_value=1, help_text=BUDGET)


class InvokableChange(Body):
    """What it is asked for from now on; who asks whom stays."""

    acts = (Act.INVOKABLE_AMEND,)
    shown = frozenset(InvokableRow.Meta.fields)
    whole = ("role_hint", "budget_micro_usd")

    role_hint = Text(required=False)
    budget_micro_usd = Number(required=False, allow_null=True, min_value=1, help_text=BUDGET)
    version = Number(required=False, help_text="The row's version that was read.")


class InvokableFilters(AgentFilters):
    """By agent and words."""

    search = SearchFilter("agent__key", "callee__key", "role_hint")


class InvokableView(Rows[InvokableAgent]):
    """Who may ask whom in the tenant."""

    acts: ClassVar = {
        "create": (Act.INVOKABLE_ALLOW,),
        "partial_update": (Act.INVOKABLE_AMEND,),
        "destroy": (Act.INVOKABLE_WITHDRAW,),
    }
    queryset = InvokableAgent.objects.none()
    serializer_class = InvokableRow
    filterset_class = InvokableFilters
    for_people = True

    def get_queryset(self) -> QuerySet[InvokableAgent]:
        """Those of the tenant."""
        return InvokableAgent.objects.visible_to(self.actor).select_related("agent", "callee")

    @extend_schema(request=NewInvokable, responses={201: InvokableRow})
    def create(self, request: Request) -> Response:
        """Let an agent ask another one. Its next session names it."""
        sent = NewInvokable.read(request, self.actor)
        asking, asked = (agent_id_named(sent.values[name], self.actor) for name in ("agent_key", "callee_key"))
        row = allow_invokable(asking, asked, actor=self.actor, **sent.only("role_hint", "budget_micro_usd"))
        return self.answer(row.pk, sent.ignored, 201)

    @extend_schema(request=InvokableChange, responses=InvokableRow)
    def partial_update(self, request: Request, pk: str) -> Response:
        """Say anew what it is asked for, and what an answer may cost."""
        del pk
        row = self.get_object()
        sent = InvokableChange.read(request, self.actor, row)
        values = sent.only("role_hint", "budget_micro_usd")
        amend_invokable(row, actor=self.actor, read_at=sent.read_at, **values)
        return self.answer(row.pk, sent.ignored)

    @extend_schema(request=InvokableChange, responses=InvokableRow)
    def update(self, request: Request, pk: str) -> Response:
        """The same, whole."""
        return self.partial_update(request, pk)

    @extend_schema(responses={204: None})
    def destroy(self, request: Request, pk: str) -> Response:
        """No longer let it ask. Sessions already open still name the other one, which refuses."""
        del request, pk
        withdraw_invokable(self.get_object(), actor=self.actor)
        return Response(status=204)
