"""The differences between the prompts of two sessions, with the acts that caused them. For people."""

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
SESSION_ADVICE = "Send the number of another session, such as with=12, or leave it out to compare with a new session."


class ChangeCauseSerializer(serializers.Serializer[Any]):
    """One act that caused a difference."""

    act = serializers.CharField()
    record_type = serializers.CharField()
    record_id = serializers.IntegerField()
    version = serializers.IntegerField()
    author = serializers.CharField()
    approver = serializers.CharField(help_text="The person who approved it; empty if nobody did.")
    at = serializers.DateTimeField()


class DiffHunkSerializer(serializers.Serializer[Any]):
    """One place of a slot where lines were removed, added, or both."""

    slot = serializers.IntegerField(source="hunk.slot.value")
    removed = serializers.SerializerMethodField()
    added = serializers.SerializerMethodField()
    causes = ChangeCauseSerializer(many=True)
    explanation = serializers.SerializerMethodField(
        help_text="A sentence if no act explains the difference, otherwise empty."
    )

    def get_removed(self, explained: Any) -> list[str]:
        """Return the lines of the first session that the second lacks."""
        hunk: Hunk = explained.hunk
        return [line.text for line in hunk.removed]

    def get_added(self, explained: Any) -> list[str]:
        """Return the lines of the second session that the first lacks."""
        hunk: Hunk = explained.hunk
        return [line.text for line in hunk.added]

    def get_explanation(self, explained: Any) -> str:
        """Return the sentence that the console shows."""
        return "" if explained.causes else str(explained.explanation)


class ReorderingSerializer(serializers.Serializer[Any]):
    """A change of the order of slots."""

    before = serializers.ListField(child=serializers.CharField())
    after = serializers.ListField(child=serializers.CharField())
    causes = ChangeCauseSerializer(many=True)


class LineOwnerSerializer(serializers.Serializer[Any]):
    """The owner of a line."""

    record_type = serializers.CharField()
    record_id = serializers.IntegerField()
    version = serializers.IntegerField()
    field = serializers.CharField()
    author = serializers.CharField()
    approver = serializers.CharField()
    taint = serializers.CharField()


class OwnerChangeSerializer(serializers.Serializer[Any]):
    """Lines that stayed but changed owner. A line without an owner is the product's own."""

    slot = serializers.IntegerField(source="slot.value")
    before = LineOwnerSerializer(many=True)
    after = LineOwnerSerializer(many=True)


class SessionComparisonSerializer(serializers.Serializer[PromptDiff]):
    """The difference between two frozen prompts, tools included."""

    is_same = serializers.BooleanField(help_text="True: the prompts are equal byte for byte.")
    other_differences = serializers.ListField(
        child=serializers.CharField(), help_text="Differences that no act caused, such as another customer."
    )
    reordered = ReorderingSerializer(allow_null=True)
    hunks = DiffHunkSerializer(many=True)
    owner_changes = OwnerChangeSerializer(many=True)


class SessionComparisonView(ActorView):
    """Compares one session with another."""

    @extend_schema(
        parameters=[
            OpenApiParameter(
                "with",
                OpenApiTypes.INT,
                description="Another session; left out, a new session of the same conversation.",
            )
        ],
        responses={
            200: SessionComparisonSerializer,
            **refusal_response(409, "One of the prompts cannot be compared."),
        },
    )
    def get(self, request: Request, pk: str) -> Response:
        """Compare the session's prompt with another session's, or with that of a new session of the same conversation.

        People only.
        """
        if not self.actor.is_person:
            raise NotPermitted("Only people may compare prompts of sessions. An agent's token cannot.")
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
