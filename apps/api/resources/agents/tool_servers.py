"""Tool servers, whose tools agents may be allowed to call. Headers can be written and are never returned."""

from typing import ClassVar

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BooleanField, CharField, DateTimeField, IntegerField, Serializer

from apps.api.framework.base_views import ActorView, RowViewSet
from apps.api.protocol.filters import CharFilter, FilterSet, SearchFilter
from apps.api.protocol.request_bodies import RequestBody, StrictBooleanField, StrictIntegerField, StrictTextField
from apps.api.protocol.serializers import STAMP_FIELDS, RowSerializer
from apps.governance.governed_write import authorize
from apps.governance.policy.policy_table import Act
from apps.runtime.tools.tool_server_refresh import RefreshResult, refresh_server
from apps.tools.actions import amend_tool_server, create_tool_server, rotate_tool_server_headers
from apps.tools.models import ToolServer

SERVER_FIELDS = ("title", "url", "is_active", "timeout_seconds", "max_result_bytes")
VERSION_HELP = "The server's version that was read."


class ToolServerSerializer(RowSerializer[ToolServer]):
    """A tool server, whether headers are stored for it, and when its tools were last read."""

    has_headers = BooleanField(read_only=True)
    listed_at = DateTimeField(source="listing.listed_at", read_only=True, default=None, allow_null=True)
    protocol_version = CharField(source="listing.protocol_version", read_only=True, default="")
    failure = CharField(source="listing.failure", read_only=True, default="", help_text="Why the last refresh failed.")

    class Meta:
        model = ToolServer
        fields = (
            *("id", "key", *SERVER_FIELDS, "has_headers", "listed_at", "protocol_version", "failure"),
            *(*STAMP_FIELDS, "ignored_fields"),
        )
        read_only_fields = fields


class CreateToolServerBody(RequestBody):
    """Key, title, address, limits and headers of a server."""

    acts = (Act.TOOL_SERVER_CREATE,)
    shown = frozenset(ToolServerSerializer.Meta.fields)

    key = StrictTextField(help_text="The names of its tools begin with it.")
    title = StrictTextField()
    url = StrictTextField(help_text="Such as https://tools.example/mcp.")
    is_active = StrictBooleanField(required=False)
    timeout_seconds = StrictIntegerField(required=False)
    max_result_bytes = StrictIntegerField(required=False, help_text="A longer result is cut.")
    headers = StrictTextField(required=False, help_text="One per line. Stored encrypted; never returned.")


class UpdateToolServerBody(RequestBody):
    """Another address or other limits. If the server changes, the headers are deleted."""

    acts = (Act.TOOL_SERVER_AMEND,)
    shown = frozenset(ToolServerSerializer.Meta.fields)
    whole = SERVER_FIELDS

    title = StrictTextField(required=False)
    url = StrictTextField(required=False)
    is_active = StrictBooleanField(required=False)
    timeout_seconds = StrictIntegerField(required=False)
    max_result_bytes = StrictIntegerField(required=False)
    version = StrictIntegerField(required=False, help_text=VERSION_HELP)
    reason = StrictTextField(required=False)


class RotateHeadersBody(RequestBody):
    """New headers."""

    about = frozenset[str]()

    headers = StrictTextField(help_text="One per line. Empty: the server gets no headers.")
    version = StrictIntegerField(required=False, help_text=VERSION_HELP)


class ToolServerRefreshSerializer(Serializer[RefreshResult]):
    """The result of a refresh."""

    has_answered = BooleanField()
    detail = CharField(source="sentence")
    code = CharField(
        help_text="Empty where the server answered; else call_not_sent, call_refused, outcome_unknown or server_changed."
    )
    milliseconds = IntegerField()


class ToolServerFilters(FilterSet):
    """Filter by key."""

    key = CharFilter()
    search = SearchFilter("key", "title", "url")


class ToolServerView(RowViewSet[ToolServer]):
    """Tool servers of the tenant; admins change them."""

    acts: ClassVar = {
        "create": (Act.TOOL_SERVER_CREATE,),
        "partial_update": (Act.TOOL_SERVER_AMEND,),
        "rotate-headers": (Act.TOOL_SERVER_ROTATE_HEADERS,),
    }
    queryset = ToolServer.objects.none()
    serializer_class = ToolServerSerializer
    filterset_class = ToolServerFilters
    for_people = True

    def get_queryset(self) -> QuerySet[ToolServer]:
        """Return the rows of the tenant."""
        return ToolServer.objects.visible_to(self.actor).select_related("listing")

    @extend_schema(request=CreateToolServerBody, responses={201: ToolServerSerializer})
    def create(self, request: Request) -> Response:
        """Create a tool server. An agent can call none of its tools before a person allows one."""
        authorize(self.actor, Act.TOOL_SERVER_CREATE, self.actor.tenant_id)
        sent = CreateToolServerBody.read(request, self.actor)
        server = create_tool_server(**sent.only("key", *SERVER_FIELDS, "headers"), actor=self.actor)
        return self.answer(server.pk, sent.ignored, 201)

    @extend_schema(request=UpdateToolServerBody, responses=ToolServerSerializer)
    def partial_update(self, request: Request, pk: str) -> Response:
        """Change the server. The headers are kept only for the same server."""
        server = self.get_object()
        sent = UpdateToolServerBody.read(request, self.actor, server)
        why = sent.reason
        amend_tool_server(server, actor=self.actor, read_at=sent.read_at, reason=why, **sent.only(*SERVER_FIELDS))
        return self.answer(server.pk, sent.ignored)

    @extend_schema(request=UpdateToolServerBody, responses=ToolServerSerializer)
    def update(self, request: Request, pk: str) -> Response:
        """Replace the row: send every field."""
        return self.partial_update(request, pk)

    @extend_schema(request=RotateHeadersBody, responses=ToolServerSerializer)
    @action(detail=True, methods=["post"], url_path="rotate-headers")
    def rotate_headers(self, request: Request, pk: str) -> Response:
        """Replace the headers."""
        server = self.get_object()
        sent = RotateHeadersBody.read(request, self.actor)
        rotate_tool_server_headers(server, actor=self.actor, headers=sent.values["headers"], read_at=sent.read_at)
        return self.answer(server.pk, sent.ignored)


class ToolServerRefreshView(ActorView):
    """Reads the list of tools from a server."""

    acts: ClassVar = {"post": (Act.TOOL_SERVER_REFRESH,)}
    waiting: ClassVar = frozenset({"post"})

    @extend_schema(request=None, responses=ToolServerRefreshSerializer)
    def post(self, request: Request, pk: str) -> Response:
        """Read the server's tools and store the list; no tool is called. A failure is a normal response with a code."""
        return Response(ToolServerRefreshSerializer(refresh_server(int(pk), actor=self.actor)).data)
