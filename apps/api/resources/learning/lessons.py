"""Lessons: mistakes that agents' work showed, and every case that was examined (R151). For people."""

from django.db.models import QuerySet
from rest_framework import serializers

from apps.api.framework.base_views import RowViewSet
from apps.api.protocol.filters import AgentFilters, BooleanFilter, ChoiceFilter, IdFilter, SearchFilter
from apps.api.protocol.serializers import RowSerializer, agent_key
from apps.learning.lessons.models import Lesson, LessonCase
from apps.learning.lessons.rules import SOURCES

SUMMARY_FIELDS = (
    *(
        "id",
        "agent_key",
        "situation",
        "problem",
        "correction",
        "source",
        "support_count",
        "confidence",
        "is_promotable",
    ),
    "last_seen_at",
)


class LessonCaseSerializer(RowSerializer[LessonCase]):
    """One examined case. Without a lesson it says why there is none."""

    agent_key = agent_key()
    lesson_id = serializers.IntegerField(read_only=True, allow_null=True)
    conversation_id = serializers.IntegerField(read_only=True, allow_null=True)

    class Meta:
        model = LessonCase
        fields = (
            *("id", "agent_key", "lesson_id", "source", "source_id", "conversation_id", "no_lesson_reason"),
            *("happened_at", "recorded_at"),
        )
        read_only_fields = fields


class LessonSummarySerializer(RowSerializer[Lesson]):
    """A lesson in a list. Personal data is masked."""

    agent_key = agent_key()
    is_promotable = serializers.BooleanField(read_only=True, help_text="Whether a digest may use it.")

    class Meta:
        model = Lesson
        fields: tuple[str, ...] = SUMMARY_FIELDS
        read_only_fields = fields


class LessonSerializer(LessonSummarySerializer):
    """A lesson with its cases."""

    cases = LessonCaseSerializer(many=True, read_only=True)

    class Meta(LessonSummarySerializer.Meta):
        fields = (*SUMMARY_FIELDS, "cases")
        read_only_fields = fields


class LessonFilters(AgentFilters):
    """Filter by agent and by the kind of the first case."""

    source = ChoiceFilter(choices=SOURCES)
    search = SearchFilter("situation", "problem", "correction")


class LessonCaseFilters(AgentFilters):
    """Filter by agent, lesson, conversation and kind, and by whether the case has a lesson."""

    lesson_id = IdFilter()
    conversation_id = IdFilter()
    source = ChoiceFilter(choices=SOURCES)
    has_no_lesson = BooleanFilter(field_name="lesson", lookup_expr="isnull")


class LessonView(RowViewSet[Lesson]):
    """Lessons of the tenant."""

    queryset = Lesson.objects.none()
    serializer_class = LessonSerializer
    line_class = LessonSummarySerializer
    filterset_class = LessonFilters
    for_people = True

    def get_queryset(self) -> QuerySet[Lesson]:
        """Return every row; the view is for people only."""
        lessons = Lesson.objects.filter(tenant_id=self.actor.tenant_id).select_related("agent")
        return lessons if self.action == "list" else lessons.prefetch_related("cases__agent")


class LessonCaseView(RowViewSet[LessonCase]):
    """Every case that was examined."""

    queryset = LessonCase.objects.none()
    serializer_class = LessonCaseSerializer
    filterset_class = LessonCaseFilters
    for_people = True

    def get_queryset(self) -> QuerySet[LessonCase]:
        """Return every row; the view is for people only."""
        return LessonCase.objects.filter(tenant_id=self.actor.tenant_id).select_related("agent")
