"""Examples: corrections that people keep for every customer of an agent, masked (Z-12). For people."""

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
    """A situation, a draft that was wrong in it, and its correction."""

    agent_key = agent_key()
    lesson_id = serializers.IntegerField(read_only=True, help_text="The lesson that it was kept of.")
    masked_counts = serializers.DictField(
        child=serializers.IntegerField(), read_only=True, help_text="How often what of each kind was masked."
    )

    class Meta:
        model = Example
        fields = (
            *("id", "agent_key", "lesson_id", "situation", "draft", "correction", "masked_counts", "status"),
            *("approved_by", "approved_at", *STAMP_FIELDS, "ignored_fields"),
        )
        read_only_fields = fields


class AddExampleBody(RequestBody):
    """The lesson to keep; its own words, unless others are sent."""

    acts = (Act.EXAMPLE_ADD,)
    shown = frozenset(ExampleSerializer.Meta.fields)

    lesson_id = StrictIntegerField(help_text="A lesson of an edited draft.")
    situation = StrictTextField(required=False)
    draft = StrictTextField(required=False)
    correction = StrictTextField(required=False)


class ExampleFilters(AgentFilters):
    """By agent and state."""

    status = ChoiceFilter(choices=Example.Status.choices)
    search = SearchFilter("situation", "draft", "correction")


class ExampleView(RowViewSet[Example]):
    """The bank of examples, by agent."""

    acts: ClassVar = {"create": (Act.EXAMPLE_ADD,), "retire": (Act.EXAMPLE_RETIRE,)}
    queryset = Example.objects.none()
    serializer_class = ExampleSerializer
    filterset_class = ExampleFilters
    for_people = True

    def get_queryset(self) -> QuerySet[Example]:
        """All of them, for a reviewer."""
        return Example.objects.visible_to(self.actor).select_related("agent")

    @extend_schema(request=AddExampleBody, responses={201: ExampleSerializer})
    def create(self, request: Request) -> Response:
        """Keep a lesson as an example; what identifies somebody is masked, and `masked` says how often what."""
        authorize(self.actor, Act.EXAMPLE_ADD, self.actor.tenant_id, agent_id=ANYWHERE)
        sent = AddExampleBody.read(request, self.actor)
        words: dict[str, Any] = sent.only("situation", "draft", "correction")
        example = add_lesson_example(self._find_lesson(sent.values["lesson_id"]), actor=self.actor, words=words)
        return self.answer(example.pk, sent.ignored, 201)

    retire = decision_action(
        "retire", Act.EXAMPLE_RETIRE, retire_example, ExampleSerializer, "Show it to no turn that begins from now on."
    )

    def _find_lesson(self, lesson_id: int) -> Lesson:
        lesson = Lesson.objects.filter(tenant_id=self.actor.tenant_id, pk=lesson_id).first()
        if lesson is None:
            raise ValidationError({"lesson_id": ["There is no such lesson."]})
        return lesson
