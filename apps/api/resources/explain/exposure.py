"""Who was told a row: the sessions that carried it in their prompt; for people."""

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
VERSION_ADVICE = "Name the version by its number, such as version=3."


class ExposedSessionSerializer(serializers.Serializer[Any]):
    """One session that carried the row."""

    session_id = serializers.IntegerField()
    conversation_id = serializers.IntegerField(source="conversation.pk")
    agent_key = serializers.CharField(source="conversation.agent.key")
    end_user_key = serializers.CharField(source="conversation.end_user_key")
    at = serializers.DateTimeField(
        help_text="When its prompt was frozen; of a learning version, when its latest turn began."
    )
    versions = serializers.ListField(child=serializers.IntegerField(), help_text="Which versions its words are of.")


class ExposureSerializer(serializers.Serializer[Exposure]):
    """The latest sessions, and how many there were in the last 30 days."""

    results = ExposedSessionSerializer(many=True, source="carriers", help_text=f"The newest, at most {MAX_SHOWN}.")
    sessions_30_days = serializers.IntegerField(
        source="recent_sessions", help_text=f"At most {MAX_COUNTED} are counted."
    )
    conversations_30_days = serializers.IntegerField(source="recent_conversations")
    versions = serializers.ListField(child=serializers.IntegerField(), help_text="All versions that prompts carried.")
    has_more = serializers.BooleanField(help_text="There are more than were counted.")
    is_truncated = serializers.BooleanField(
        help_text="Of very many different prompts only the latest were looked through."
    )


class ExposureView(ActorView):
    """Who was told one row."""

    model: ClassVar[Any] = None  # Any: a governed model, said where the address is

    @extend_schema(
        parameters=[
            OpenApiParameter("version", OpenApiTypes.INT, description="Words of this version alone."),
            OpenApiParameter("line", OpenApiTypes.STR, description="This very line alone."),
        ],
        responses=ExposureSerializer,
    )
    def get(self, request: Request, pk: str) -> Response:
        """The sessions whose prompt carried words of the row, newest first; nothing off the record. People only."""
        if not self.actor.is_person:
            raise NotPermitted("Only people may read who was told something; an agent's token does not reach it.")
        query = request.query_params
        reject_unknown_parameters(request, PARAMETERS)
        row = self.model.objects.visible_to(self.actor).filter(pk=pk).first()
        if row is None:
            raise Http404
        version = read_version_number(request, "version", VERSION_ADVICE) if query.get("version") else None
        exposure = exposure_of(row, actor=self.actor, now=timezone.now(), version=version, line=query.get("line", ""))
        return Response(ExposureSerializer(exposure).data)
