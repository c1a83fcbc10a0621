"""The tools that tool servers offer, and the tools that each agent may call. People only."""

from typing import ClassVar

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BooleanField, CharField, ModelSerializer

from apps.api.framework.base_views import RowViewSet
from apps.api.protocol.filters import AgentFilters, BooleanFilter, CharFilter, FilterSet, SearchFilter
from apps.api.protocol.request_bodies import RequestBody, StrictBooleanField, StrictIntegerField, StrictTextField
from apps.api.protocol.serializers import STAMP_FIELDS, RowSerializer, agent_key
from apps.api.resources.agents.agents import agent_id_named
from apps.governance.actors import ANYWHERE
from apps.governance.governed_write import authorize
from apps.governance.policy.policy_table import Act
from apps.tools.actions import allow_tool, amend_agent_tool, withdraw_tool
from apps.tools.models import AgentTool, ServerTool


class ServerToolSerializer(ModelSerializer[ServerTool]):
    """One tool as its server describes it now. The description is the server's own and not verified."""

    server = CharField(source="server.key", read_only=True)

    class Meta:
        model = ServerTool
        fields = (
            "id",
            "server",
            "name",
            "qualified_name",
            "definition",
            "sha256",
            "validation_error",
            "is_listed",
            "updated_at",
        )
        read_only_fields = fields


class ServerToolFilters(FilterSet):
    """Filter by server, and by whether the server still offers the tool."""

    server = CharFilter(field_name="server__key", help_text="Key of the server.")
    is_listed = BooleanFilter()


class ServerToolView(RowViewSet[ServerTool]):
    """The tools that the tenant's tool servers offer."""

    queryset = ServerTool.objects.none()
    serializer_class = ServerToolSerializer
    filterset_class = ServerToolFilters
    for_people = True

    def get_queryset(self) -> QuerySet[ServerTool]:
        """Return the tools of every server of the tenant."""
        return ServerTool.objects.visible_to(self.actor).select_related("server")


class AgentToolSerializer(RowSerializer[AgentTool]):
    """A tool that an agent may call, with the description that a person approved."""

    agent_key = agent_key()
    tool = CharField(
        source="tool.qualified_name", read_only=True, help_text="The name by which the agent calls the tool."
    )
    is_offered = BooleanField(
        read_only=True, help_text="False where the server has changed its description or withdrawn it."
    )

    class Meta:
        model = AgentTool
        fields = (
            *("id", "agent_key", "tool", "needs_approval", "definition", "sha256", "is_offered"),
            *(*STAMP_FIELDS, "ignored_fields"),
        )
        read_only_fields = fields


class AllowAgentToolBody(RequestBody):
    """The agent, the tool, and the description that was read."""

    acts = (Act.AGENT_TOOL_ALLOW,)
    shown = frozenset(AgentToolSerializer.Meta.fields)

    agent_key = StrictTextField()
    tool = StrictTextField(help_text="The name by which the agent calls the tool: `qualified_name` of a server tool.")
    read_sha256 = StrictTextField(
        help_text="`sha256` of the description that was read. The request is refused if the description has changed."
    )
    needs_approval = StrictBooleanField(
        required=False, help_text="May be false only for a tool that its server declares read-only."
    )
    reason = StrictTextField(required=False)


class UpdateAgentToolBody(RequestBody):
    """A new description for the same permission, or another choice of whether calls need approval."""

    acts = (Act.AGENT_TOOL_AMEND,)
    shown = frozenset(AgentToolSerializer.Meta.fields)
    whole = ("needs_approval",)

    needs_approval = StrictBooleanField(required=False)
    read_sha256 = StrictTextField(
        required=False,
        help_text="`sha256` of the server's current description. Left out: the description stays as approved.",
    )
    version = StrictIntegerField(required=False, help_text="The row's version that was read.")
    reason = StrictTextField(required=False)


class AgentToolFilters(AgentFilters):
    """Filter by agent, and by whether calls need approval."""

    needs_approval = BooleanFilter()
    search = SearchFilter("tool__qualified_name")


class AgentToolView(RowViewSet[AgentTool]):
    """The tools of external servers that each agent may call."""

    acts: ClassVar = {
        "create": (Act.AGENT_TOOL_ALLOW,),
        "partial_update": (Act.AGENT_TOOL_AMEND,),
        "destroy": (Act.AGENT_TOOL_WITHDRAW,),
    }
    queryset = AgentTool.objects.none()
    serializer_class = AgentToolSerializer
    filterset_class = AgentToolFilters
    for_people = True

    def get_queryset(self) -> QuerySet[AgentTool]:
        """Return the rows of the tenant."""
        return AgentTool.objects.visible_to(self.actor).select_related("agent", "tool__server")

    @extend_schema(request=AllowAgentToolBody, responses={201: AgentToolSerializer})
    def create(self, request: Request) -> Response:
        """Allow an agent to call a tool as it was read. Its next session is offered the tool."""
        authorize(self.actor, Act.AGENT_TOOL_ALLOW, self.actor.tenant_id, agent_id=ANYWHERE)
        sent = AllowAgentToolBody.read(request, self.actor)
        agent_id, tool_id = agent_id_named(sent.values["agent_key"], self.actor), self._find_tool(sent.values["tool"])
        given = sent.only("needs_approval", "reason")
        row = allow_tool(agent_id, tool_id, sent.values["read_sha256"], actor=self.actor, **given)
        return self.answer(row.pk, sent.ignored, 201)

    @extend_schema(request=UpdateAgentToolBody, responses=AgentToolSerializer)
    def partial_update(self, request: Request, pk: str) -> Response:
        """Allow the tool as it is described now, or change whether each call waits for a person."""
        row = self.get_object()
        sent = UpdateAgentToolBody.read(request, self.actor, row)
        given = {**sent.only("needs_approval", "reason"), "sha256": sent.values.get("read_sha256", "")}
        amend_agent_tool(row, actor=self.actor, read_at=sent.read_at, **given)
        return self.answer(row.pk, sent.ignored)

    @extend_schema(request=UpdateAgentToolBody, responses=AgentToolSerializer)
    def update(self, request: Request, pk: str) -> Response:
        """Replace the row: send every field."""
        return self.partial_update(request, pk)

    @extend_schema(responses={204: None})
    def destroy(self, request: Request, pk: str) -> Response:
        """Withdraw the tool: the agent can no longer call it, from its next turn on."""
        withdraw_tool(self.get_object(), actor=self.actor)
        return Response(status=204)

    def _find_tool(self, name: str) -> int:
        tool = ServerTool.objects.visible_to(self.actor).filter(qualified_name=name).first()
        if tool is None:
            raise ValidationError({"tool": ["No server offers a tool of this name. Refresh the tools of its server."]})
        return tool.pk
