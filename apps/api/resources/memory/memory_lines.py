"""Lines of memory and blocks, each with its source and its state (R080, R087). For people."""

from collections.abc import Callable
from typing import Any, Final

from django.db.models import QuerySet
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.framework.base_views import RowViewSet
from apps.api.framework.versions import VersionedViewSet
from apps.api.protocol.filters import AgentFilters, ChoiceFilter, DateFilter, IdFilter, SearchFilter
from apps.api.protocol.request_bodies import RequestBody, StrictIntegerField, StrictTextField
from apps.api.protocol.serializers import RowSerializer, agent_key
from apps.governance.models import Taint
from apps.memory.line_dates import due_line_filters
from apps.memory.models import MemoryLine
from apps.prompt.memory_lines.line_expiry import LineDates

DUE_CHOICES: Final = (("review", "Due for review"), ("expired", "Expired"))
APPROVE_DESCRIPTION: Final = "Approve the agent's text as it is now. The next session carries it as prose. People only."
DUE_HELP: Final = "Active lines: `review`, due for review; `expired`, past their expiry."


class MemoryLineSerializer(RowSerializer[MemoryLine]):
    """One line, from its first to its last version."""

    agent_key = agent_key()
    memory_id = serializers.IntegerField(read_only=True, allow_null=True)
    block_id = serializers.IntegerField(read_only=True, allow_null=True)
    conversation_id = serializers.IntegerField(read_only=True, allow_null=True, source="source_conversation_id")
    superseded_by_id = serializers.IntegerField(read_only=True, allow_null=True)

    class Meta:
        model = MemoryLine
        fields = (
            "id",
            "agent_key",
            "memory_id",
            "block_id",
            "text",
            "sha256",
            "author",
            "taint",
            "conversation_id",
            "first_version",
            "last_version",
            "status",
            "valid_until",
            "review_after",
            "superseded_by_id",
            "created_at",
            "ended_at",
        )
        read_only_fields = fields


class SetLineDatesBody(RequestBody):
    """A line of the text, its expiry and its review date. A date that is left out is removed."""

    about = frozenset[str]()

    line = StrictTextField()
    valid_until = serializers.DateTimeField(required=False, allow_null=True)
    review_after = serializers.DateTimeField(required=False, allow_null=True)
    version = StrictIntegerField(required=False, help_text="The version of the text that was read.")


def line_dates_action(date: Callable[..., object], shown: type[RowSerializer[Any]]) -> Callable[..., Response]:
    """Return the view action that sets the dates of a line in the view's text."""

    @extend_schema(request=SetLineDatesBody, responses=shown)
    @action(detail=True, methods=["post"], url_path="set-line-dates")
    def date_line(self: VersionedViewSet[Any], request: Request, pk: str) -> Response:
        """Set the expiry and the review date of a line."""
        row = self.get_object()
        sent = SetLineDatesBody.read(request, self.actor)
        dates = LineDates(sent.values.get("valid_until"), sent.values.get("review_after"))
        date(row, actor=self.actor, line=sent.values["line"], dates=dates, read_at=sent.read_at)
        return self.answer(row.pk, sent.ignored)

    return date_line


class MemoryLineFilters(AgentFilters):
    """Filter by agent, text, state and source."""

    memory_id = IdFilter()
    block_id = IdFilter()
    status = ChoiceFilter(choices=MemoryLine.Status.choices)
    taint = ChoiceFilter(choices=Taint.choices)
    review_by = DateFilter(field_name="review_after", lookup_expr="date__lte", help_text="Due for review by this day.")
    due = ChoiceFilter(choices=DUE_CHOICES, method="by_date", help_text=DUE_HELP)
    search = SearchFilter("text", "agent__key")

    def by_date(self, rows: QuerySet[MemoryLine], name: str, value: str) -> QuerySet[MemoryLine]:
        """Return the lines whose date has come."""
        return rows.filter(due_line_filters(timezone.now())[value])


class MemoryLineView(RowViewSet[MemoryLine]):
    """The lines of memory and blocks."""

    queryset = MemoryLine.objects.none()
    serializer_class = MemoryLineSerializer
    filterset_class = MemoryLineFilters
    for_people = True

    def get_queryset(self) -> QuerySet[MemoryLine]:
        """Return every row; the view is for people only."""
        return MemoryLine.objects.filter(tenant_id=self.actor.tenant_id).select_related("agent")
