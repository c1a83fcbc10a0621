"""What two sessions were told differently, with the acts that caused it; for people."""

from typing import Any

from django.http import Http404
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.framework.base_views import ActorView
from apps.api.openapi.schema import refusal_response
from apps.api.protocol.query_parameters import read_version_number, reject_unknown_parameters
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import NotPermitted
from apps.prompt.prompt_diff import Hunk
from apps.runtime.explain.prompt_diff import PromptDiff, comparable_sessions, diff_sessions

PARAMETERS = frozenset({"with"})
SESSION_ADVICE = (
    "Name another session by its number, such as with=12, or leave it out for what a new one would be told now."
)


class ChangeCauseSerializer(serializers.Serializer[Any]):
    """One act that made the two differ."""

    act = serializers.CharField()
    record_type = serializers.CharField()
    record_id = serializers.IntegerField()
    version = serializers.IntegerField()
    author = serializers.CharField()
    approver = serializers.CharField(help_text="The person who did it; empty where none did.")
    at = serializers.DateTimeField()


class DiffHunkSerializer(serializers.Serializer[Any]):
    """One place of a slot where lines went, came, or both."""

    slot = serializers.IntegerField(source="hunk.slot.value")
    removed = serializers.SerializerMethodField()
    added = serializers.SerializerMethodField()
    causes = ChangeCauseSerializer(many=True)
    explanation = serializers.SerializerMethodField(help_text="A sentence where no act explains it, else empty.")

    def get_removed(self, explained: Any) -> list[str]:
        """Lines of the first that the second lacks."""
        hunk: Hunk = explained.hunk
        return [line.text for line in hunk.removed]

    def get_added(self, explained: Any) -> list[str]:
        """Lines of the second that the first lacks."""
        hunk: Hunk = explained.hunk
        return [line.text for line in hunk.added]

    def get_explanation(self, explained: Any) -> str:
        """As the console says it."""
        return "" if explained.causes else str(explained.explanation)


class ReorderingSerializer(serializers.Serializer[Any]):
    """The slots stand in another order."""

    before = serializers.ListField(child=serializers.CharField())
    after = serializers.ListField(child=serializers.CharField())
    causes = ChangeCauseSerializer(many=True)


class LineOwnerSerializer(serializers.Serializer[Any]):
    """Whose words a line is."""

    record_type = serializers.CharField()
    record_id = serializers.IntegerField()
    version = serializers.IntegerField()
    field = serializers.CharField()
    author = serializers.CharField()
    approver = serializers.CharField()
    taint = serializers.CharField()


class OwnerChangeSerializer(serializers.Serializer[Any]):
    """Words that stayed and passed from some owners to others; no owner is the product itself."""

    slot = serializers.IntegerField(source="slot.value")
    before = LineOwnerSerializer(many=True)
    after = LineOwnerSerializer(many=True)


class SessionComparisonSerializer(serializers.Serializer[PromptDiff]):
    """Two frozen prompts, tools included."""

    is_same = serializers.BooleanField(help_text="Byte for byte.")
    other_differences = serializers.ListField(
        child=serializers.CharField(), help_text="What makes them differ without any act, such as another customer."
    )
    reordered = ReorderingSerializer(allow_null=True)
    hunks = DiffHunkSerializer(many=True)
    owner_changes = OwnerChangeSerializer(many=True)


class SessionComparisonView(ActorView):
    """One session beside another."""

    @extend_schema(
        parameters=[OpenApiParameter("with", OpenApiTypes.INT, description="Another session; left out, it is now.")],
        responses={
            200: SessionComparisonSerializer,
            **refusal_response(409, "What one of them was told cannot be compared."),
        },
    )
    def get(self, request: Request, pk: str) -> Response:
        """What the session was told beside another one, or beside what a new one of its conversation is told now. People only."""
        if not self.actor.is_person:
            raise NotPermitted("Only people may compare what agents were told; an agent's token does not reach it.")
        reject_unknown_parameters(request, PARAMETERS)
        number = read_version_number(request, "with", SESSION_ADVICE) if request.query_params.get("with") else None
        with acting_as(self.actor):
            sessions = comparable_sessions(self.actor)
            session = sessions.filter(pk=pk).first()
            other = sessions.filter(pk=number).first() if number else None
            if session is None:
                raise Http404
            if number and other is None:
                raise ValidationError({"with": [f"There is no session {number} that you may see."]})
            return Response(
                SessionComparisonSerializer(diff_sessions(session, other, system=self.actor, now=timezone.now())).data
            )
