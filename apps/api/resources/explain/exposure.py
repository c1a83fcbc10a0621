"""Exposure of a row: the sessions that carried it in their prompt. For people."""

from typing import Any, ClassVar

from django.http import Http404
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.framework.base_views import ActorView
from apps.api.protocol.query_parameters import read_version_number, reject_unknown_parameters
from apps.governance.errors import NotPermitted
from apps.runtime.explain.exposure import MAX_COUNTED, MAX_SHOWN, Exposure, exposure_of

PARAMETERS = frozenset({"version", "line"})
VERSION_ADVICE = "Send a version number, such as version=3."


class ExposedSessionSerializer(serializers.Serializer[Any]):
    """One session that carried the row."""

    session_id = serializers.IntegerField()
    conversation_id = serializers.IntegerField(source="conversation.pk")
    agent_key = serializers.CharField(source="conversation.agent.key")
    end_user_key = serializers.CharField(source="conversation.end_user_key")
    at = serializers.DateTimeField(
        help_text="When its prompt was frozen; of a learning version, when its latest turn began."
    )
    versions = serializers.ListField(
        child=serializers.IntegerField(), help_text="The versions of the row that its prompt carried."
    )


class ExposureSerializer(serializers.Serializer[Exposure]):
    """The latest sessions, and how many there were in the last 30 days."""

    results = ExposedSessionSerializer(many=True, source="carriers", help_text=f"The newest, at most {MAX_SHOWN}.")
    sessions_30_days = serializers.IntegerField(
        source="recent_sessions", help_text=f"At most {MAX_COUNTED} are counted."
    )
    conversations_30_days = serializers.IntegerField(source="recent_conversations")
    versions = serializers.ListField(child=serializers.IntegerField(), help_text="All versions that prompts carried.")
    has_more = serializers.BooleanField(help_text="True: there are more than were counted.")
    is_truncated = serializers.BooleanField(
        help_text="True: there were too many different prompts, and only the latest were searched."
    )


class ExposureView(ActorView):
    """The exposure of one row."""

    model: ClassVar[Any] = None  # Any: a governed model, set where the address is declared

    @extend_schema(
        parameters=[
            OpenApiParameter("version", OpenApiTypes.INT, description="Only text of this version."),
            OpenApiParameter("line", OpenApiTypes.STR, description="Only this exact line."),
        ],
        responses=ExposureSerializer,
    )
    def get(self, request: Request, pk: str) -> Response:
        """List the sessions whose prompt carried text of the row, newest first, without those off the record. People only."""
        if not self.actor.is_person:
            raise NotPermitted("Only people may read the exposure of a row. An agent's token cannot.")
        query = request.query_params
        reject_unknown_parameters(request, PARAMETERS)
        row = self.model.objects.visible_to(self.actor).filter(pk=pk).first()
        if row is None:
            raise Http404
        version = read_version_number(request, "version", VERSION_ADVICE) if query.get("version") else None
        exposure = exposure_of(row, actor=self.actor, now=timezone.now(), version=version, line=query.get("line", ""))
        return Response(ExposureSerializer(exposure).data)
