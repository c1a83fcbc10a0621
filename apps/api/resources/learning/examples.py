"""Examples: masked corrections that people keep for every customer of an agent (Z-12). For people."""

from typing import Any, ClassVar

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.framework.base_views import RowViewSet
from apps.api.framework.row_actions import decision_action
from apps.api.protocol.filters import AgentFilters, ChoiceFilter, SearchFilter
from apps.api.protocol.request_bodies import RequestBody, StrictIntegerField, StrictTextField
from apps.api.protocol.serializers import STAMP_FIELDS, RowSerializer, agent_key
from apps.governance.actors import ANYWHERE
from apps.governance.governed_write import authorize
from apps.governance.policy.policy_table import Act
from apps.learning.lessons.actions import retire_example
from apps.learning.lessons.example_bank import add_lesson_example
from apps.learning.lessons.models import Example, Lesson


class ExampleSerializer(RowSerializer[Example]):
    """A situation, a wrong draft, and its correction."""

    agent_key = agent_key()
    lesson_id = serializers.IntegerField(read_only=True, help_text="The lesson behind the example.")
    masked_counts = serializers.DictField(
        child=serializers.IntegerField(), read_only=True, help_text="Number of masked values, by kind."
    )

    class Meta:
        model = Example
        fields = (
            *("id", "agent_key", "lesson_id", "situation", "draft", "correction", "masked_counts", "status"),
            *("approved_by", "approved_at", *STAMP_FIELDS, "ignored_fields"),
        )
        read_only_fields = fields


class AddExampleBody(RequestBody):
    """The lesson to keep, and optionally other texts than the lesson's own."""

    acts = (Act.EXAMPLE_ADD,)
    shown = frozenset(ExampleSerializer.Meta.fields)

    lesson_id = StrictIntegerField(help_text="A lesson of an edited draft.")
    situation = StrictTextField(required=False)
    draft = StrictTextField(required=False)
    correction = StrictTextField(required=False)


class ExampleFilters(AgentFilters):
    """Filter by agent and state."""

    status = ChoiceFilter(choices=Example.Status.choices)
    search = SearchFilter("situation", "draft", "correction")


class ExampleView(RowViewSet[Example]):
    """The examples of each agent."""

    acts: ClassVar = {"create": (Act.EXAMPLE_ADD,), "retire": (Act.EXAMPLE_RETIRE,)}
    queryset = Example.objects.none()
    serializer_class = ExampleSerializer
    filterset_class = ExampleFilters
    for_people = True

    def get_queryset(self) -> QuerySet[Example]:
        """Return every row; the view is for people only."""
        return Example.objects.visible_to(self.actor).select_related("agent")

    @extend_schema(request=AddExampleBody, responses={201: ExampleSerializer})
    def create(self, request: Request) -> Response:
        """Keep a lesson as an example. Personal data is masked, and `masked_counts` says how many values of each kind."""
        authorize(self.actor, Act.EXAMPLE_ADD, self.actor.tenant_id, agent_id=ANYWHERE)
        sent = AddExampleBody.read(request, self.actor)
        words: dict[str, Any] = sent.only("situation", "draft", "correction")
        example = add_lesson_example(self._find_lesson(sent.values["lesson_id"]), actor=self.actor, words=words)
        return self.answer(example.pk, sent.ignored, 201)

    retire = decision_action(
        "retire",
        Act.EXAMPLE_RETIRE,
        retire_example,
        ExampleSerializer,
        "Retire the example: no later turn is shown it.",
    )

    def _find_lesson(self, lesson_id: int) -> Lesson:
        lesson = Lesson.objects.filter(tenant_id=self.actor.tenant_id, pk=lesson_id).first()
        if lesson is None:
            raise ValidationError({"lesson_id": ["There is no such lesson."]})
        return lesson
