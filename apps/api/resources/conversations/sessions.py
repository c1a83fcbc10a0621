"""Sessions: the frozen prompts, which people read (R041, R062) and external agents work in."""

from dataclasses import asdict
from typing import Any, ClassVar

from django.db.models import Max, QuerySet
from django.db.models.functions import Coalesce
from django.urls import reverse
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.framework.base_views import RowViewSet
from apps.api.openapi.schema import refusal_response
from apps.api.protocol.filters import AgentFilters, IdFilter, SearchFilter
from apps.api.protocol.serializers import RowSerializer, agent_key
from apps.api.resources.conversations.external_turns import (
    CallSessionToolBody,
    ExternalSessionSerializer,
    OpenSessionBody,
    ReportTurnBody,
    SessionToolCallSerializer,
    TurnReportSerializer,
    accept_turn_report,
    call_session_tool,
    open_external_session,
    session_payload,
)
from apps.api.resources.conversations.messages import KEY_PARAMETER
from apps.governance.policy.policy_table import Act
from apps.runtime.explain.turn_retrieval import TURNS_LISTED, TurnRetrieval, retrievals_of_session
from apps.runtime.models import Session, SessionPart

SUMMARY_FIELDS = ("id", "conversation_id", "agent_key", "snapshot_at", "last_turn_at", "prefix_sha256", "tool_names")


class SessionPartSerializer(serializers.ModelSerializer[SessionPart]):
    """One slot of the frozen prompt."""

    slot = serializers.IntegerField(source="part.slot", read_only=True)
    sha256 = serializers.CharField(source="part.sha256", read_only=True)
    text = serializers.CharField(source="part.text", read_only=True)

    class Meta:
        model = SessionPart
        fields = ("position", "slot", "sha256", "text")
        read_only_fields = fields


class SessionSummarySerializer(RowSerializer[Session]):
    """A session in a list."""

    agent_key = agent_key()
    conversation_id = serializers.IntegerField(read_only=True)
    last_turn_at = serializers.DateTimeField(
        read_only=True, help_text="Time of its last finished turn, or of its beginning."
    )
    tool_names = serializers.ListField(child=serializers.CharField(), read_only=True)

    class Meta:
        model = Session
        fields: tuple[str, ...] = SUMMARY_FIELDS
        read_only_fields = fields


class TurnRetrievalSerializer(serializers.Serializer[TurnRetrieval]):
    """What one turn retrieved of the agent's learning: ids and counts, no texts (R165)."""

    turn_id = serializers.IntegerField()
    learning_version_id = serializers.IntegerField(
        allow_null=True, help_text="The learning version that the conversation is pinned to."
    )
    bullet_count = serializers.IntegerField(help_text="Number of its bullets in the prompt.")
    example_ids = serializers.ListField(child=serializers.IntegerField(), help_text="Corrected drafts in the prompt.")
    bank_example_ids = serializers.ListField(
        child=serializers.IntegerField(), help_text="Examples in the prompt that people keep for every customer."
    )


class SessionSerializer(SessionSummarySerializer):
    """A session with the text of its frozen prompt."""

    parts = SessionPartSerializer(many=True, read_only=True)
    retrieval = serializers.SerializerMethodField(
        help_text=f"What its latest {TURNS_LISTED} turns retrieved of the agent's learning, newest first."
    )

    class Meta(SessionSummarySerializer.Meta):
        fields = (*SUMMARY_FIELDS, "parts", "retrieval")
        read_only_fields = fields

    @extend_schema_field(TurnRetrievalSerializer(many=True))
    def get_retrieval(self, session: Session) -> list[dict[str, Any]]:
        """Return the retrievals of a single session; lists leave them out."""
        return [asdict(each) for each in retrievals_of_session(session)]


class SessionFilters(AgentFilters):
    """Filter by agent and conversation."""

    conversation_id = IdFilter()
    search = SearchFilter("prefix_sha256", "conversation__conversation_key")


class SessionView(RowViewSet[Session]):
    """Sessions of the conversations the actor may see, without members' own talks.

    An external agent opens sessions, calls built-in tools in them, and reports its turns.
    """

    acts: ClassVar = {
        "create": (Act.SESSION_OPEN,),
        "calls": (Act.TURN_REPORT,),
        "turns": (Act.TURN_REPORT,),
    }
    waiting = frozenset({"post"})
    has_own_keys = True
    queryset = Session.objects.none()
    serializer_class = SessionSerializer
    line_class = SessionSummarySerializer
    filterset_class = SessionFilters

    def get_queryset(self) -> QuerySet[Session]:
        """Return the sessions with the time of their last use."""
        sessions = (
            Session.objects.filter(tenant_id=self.actor.tenant_id, conversation__member_user_id=None)
            .select_related("agent")
            .annotate(last_turn_at=Coalesce(Max("turns__finished_at"), "snapshot_at"))
        )
        return sessions if self.action == "list" else sessions.prefetch_related("parts__part")

    @extend_schema(
        request=OpenSessionBody,
        responses={
            200: ExternalSessionSerializer,
            **refusal_response(404, "No message waits for a turn."),
        },
    )
    def create(self, request: Request) -> Response:
        """Open or continue a session. Returns the turn that answers the customer's messages, ready to be sent to the model."""
        out = open_external_session(request, self.actor)
        calls, report = (reverse(f"session-{name}", args=[out.session.pk]) for name in ("calls", "turns"))
        return Response(ExternalSessionSerializer(session_payload(out, calls=calls, report=report)).data)

    @extend_schema(request=CallSessionToolBody, responses={200: SessionToolCallSerializer})
    @action(detail=True, methods=["post"])
    def calls(self, request: Request, pk: str) -> Response:
        """Call a built-in tool in a turn that was handed out. The same `call_id` again is the same call."""
        return Response(SessionToolCallSerializer(call_session_tool(request, int(pk), self.actor)).data)

    @extend_schema(request=ReportTurnBody, parameters=[KEY_PARAMETER], responses={200: TurnReportSerializer})
    @action(detail=True, methods=["post"])
    def turns(self, request: Request, pk: str) -> Response:
        """Report a turn that was handed out. The response says whether its reply may be sent."""
        return Response(TurnReportSerializer(accept_turn_report(request, int(pk), self.actor)).data)
