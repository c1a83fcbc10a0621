"""Escalations: questions that an agent hands to people, and their answers (R135, R136)."""

from typing import ClassVar

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import ChoiceField, IntegerField

from apps.api.framework.base_views import RowViewSet
from apps.api.framework.row_actions import decision_action
from apps.api.protocol.filters import AgentFilters, ChoiceFilter, IdFilter, SearchFilter
from apps.api.protocol.request_bodies import RequestBody, StrictBooleanField, StrictIntegerField, StrictTextField
from apps.api.protocol.serializers import STAMP_FIELDS, RowSerializer, agent_key
from apps.conversations.models import Conversation
from apps.desk.actions import dismiss_escalation, open_escalation
from apps.desk.models import Escalation
from apps.governance.policy.policy_table import Act
from apps.runtime.turns.operator_replies import answer_question

VERSION_HELP = "The escalation's version that was read."


class EscalationSerializer(RowSerializer[Escalation]):
    """A question, why it needs a person, and how it was settled."""

    agent_key = agent_key()
    conversation_id = IntegerField(read_only=True)

    class Meta:
        model = Escalation
        fields = (
            "id",
            "agent_key",
            "conversation_id",
            "turn_id",
            "tool_step_id",
            "reason",
            "question",
            "opened_by",
            "status",
            "answer",
            "dismissal_reason",
            "decided_by",
            "decided_at",
            *STAMP_FIELDS,
            "ignored_fields",
        )
        read_only_fields = fields


class OpenEscalationBody(RequestBody):
    """The question, its conversation, and the reason."""

    about = frozenset[str]()
    acts = (Act.ESCALATION_OPEN,)

    conversation_id = StrictIntegerField()
    reason = ChoiceField(Escalation.Reason.choices)
    question = StrictTextField()


class AnswerEscalationBody(RequestBody):
    """The answer, and whether it is sent to the customer word for word."""

    answer = StrictTextField()
    word_for_word = StrictBooleanField(
        required=False,
        help_text="True: the answer is sent to the customer word for word. Otherwise the agent relays it.",
    )
    version = StrictIntegerField(required=False, help_text=VERSION_HELP)


class EscalationFilters(AgentFilters):
    """Filter by agent, conversation, state and reason."""

    conversation_id = IdFilter()
    status = ChoiceFilter(choices=Escalation.Status.choices)
    reason = ChoiceFilter(choices=Escalation.Reason.choices)
    search = SearchFilter("question")


class EscalationView(RowViewSet[Escalation]):
    """Escalations. An agent opens and reads those of its conversations and settles none."""

    acts: ClassVar = {
        "create": (Act.ESCALATION_OPEN,),
        "answer": (Act.ESCALATION_ANSWER,),
        "dismiss": (Act.ESCALATION_DISMISS,),
    }
    queryset = Escalation.objects.none()
    in_bulk = ("create", "answer", "dismiss")
    serializer_class = EscalationSerializer
    filterset_class = EscalationFilters
    keeps_words = False

    def get_queryset(self) -> QuerySet[Escalation]:
        """Return the rows that the actor may see."""
        return Escalation.objects.visible_to(self.actor).select_related("agent", "conversation")

    @extend_schema(request=OpenEscalationBody, responses={201: EscalationSerializer})
    def create(self, request: Request) -> Response:
        """Hand a question to a person. If one waits for the same reason, this question is added to it."""
        sent = OpenEscalationBody.read(request, self.actor)
        conversation = Conversation.objects.visible_to(self.actor).filter(pk=sent.values["conversation_id"]).first()
        if conversation is None:
            raise ValidationError({"conversation_id": ["There is no such conversation, or you may not see it."]})
        escalation = open_escalation(
            conversation.pk,
            actor=self.actor,
            agent_id=conversation.agent_id,
            turn_id=None,
            reason=Escalation.Reason(sent.values["reason"]),
            question=sent.values["question"],
        )
        return self.answer(escalation.pk, sent.ignored, 201)

    @extend_schema(request=AnswerEscalationBody, responses=EscalationSerializer)
    @action(detail=True, methods=["post"], url_path="answer")
    def answer_it(self, request: Request, pk: str) -> Response:
        """Answer the question: the agent relays the answer, or it is sent to the customer word for word. People only."""
        escalation = self.get_object()
        sent = AnswerEscalationBody.read(request, self.actor)
        answer_question(escalation, actor=self.actor, read_at=sent.read_at, **sent.only("answer", "word_for_word"))
        return self.answer(escalation.pk, sent.ignored)

    dismiss = decision_action(
        "dismiss",
        Act.ESCALATION_DISMISS,
        dismiss_escalation,
        EscalationSerializer,
        "Settle the question without an answer; the reason is optional. People only.",
    )
