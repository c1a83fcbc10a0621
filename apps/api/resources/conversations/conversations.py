"""Conversations: opened by messages, resolved or abandoned by an agent or a person, permanently (R024, R108, R109)."""

from typing import ClassVar, Final

from django.db.models import QuerySet
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import ChoiceField, IntegerField, SerializerMethodField

from apps.api.framework.row_actions import check_transition, decision_action
from apps.api.framework.versions import VersionedViewSet
from apps.api.models import IdempotencyRecord
from apps.api.protocol.filters import AgentFilters, BooleanFilter, CharFilter, ChoiceFilter, IdFilter, SearchFilter
from apps.api.protocol.request_bodies import (
    OptionalVersionBody,
    ParsedBody,
    ReasonedDecisionBody,
    RequestBody,
    StrictIntegerField,
    StrictTextField,
)
from apps.api.protocol.serializers import STAMP_FIELDS, RowSerializer, agent_key
from apps.api.resources.conversations.messages import MessageSerializer
from apps.conversations.actions import abandon_conversation, resolve_conversation, take_over_conversation
from apps.conversations.models import Conversation, Message
from apps.conversations.quarantine import quarantine_conversation, release_conversation
from apps.conversations.ratings import rate_conversation
from apps.conversations.rules import COMMENT_CHARACTERS, EVENT_CHARACTERS, RATINGS
from apps.desk.queues import REPORT_FILTERS, reported_conversation_ids
from apps.governance.actors import Actor
from apps.governance.errors import NotPermitted
from apps.governance.policy.policy_table import Act
from apps.runtime.health.stuck_turns import KINDS, stuck_turns
from apps.runtime.models import Turn
from apps.runtime.turns.operator_replies import hand_back, write_to_customer
from apps.runtime.turns.run_now import run_turn_now
from apps.runtime.turns.waiting_messages import conversation_length

STUCK_TURN_CHOICES: Final = tuple((kind, kind) for kind in KINDS)


class ConversationSummarySerializer(RowSerializer[Conversation]):
    """One thread of a channel between a customer and an agent."""

    agent_key = agent_key()
    follows_id = IntegerField(read_only=True, allow_null=True, help_text="The ended conversation this one follows.")

    parent_id = IntegerField(
        read_only=True,
        allow_null=True,
        help_text="The conversation in which another agent asked; null for a customer's.",
    )

    class Meta:
        model = Conversation
        fields = (
            "id",
            "agent_key",
            "channel",
            "conversation_key",
            "end_user_key",
            "status",
            "outcome",
            "origin",
            "off_the_record",
            "has_external_agent",
            "proven_at",
            "erased_at",
            "rating",
            "rating_comment",
            "rated_at",
            "follows_id",
            "parent_id",
            "hops",
            "budget_micro_usd",
            "resolved_at",
            "quarantined_at",
            "quarantined_by",
            "quarantine_reason",
            "taken_over_by",
            "taken_over_at",
            *STAMP_FIELDS,
            "ignored_fields",
        )
        read_only_fields = fields


class ConversationSerializer(ConversationSummarySerializer):
    """A conversation with the length of its transcript, which a person who writes to the customer sends back."""

    length = SerializerMethodField(
        help_text="Number of messages so far, with those that wait for an answer. Send it back as `seen_length` with a message."
    )

    class Meta(ConversationSummarySerializer.Meta):
        fields = ("length", *ConversationSummarySerializer.Meta.fields)  # type: ignore[assignment]  # one more than a line of a list
        read_only_fields = fields  # type: ignore[assignment]  # the same

    def get_length(self, conversation: Conversation) -> int:
        """Return the number of messages."""
        return conversation_length(conversation)


RESPONSE_FIELDS = frozenset(ConversationSerializer.Meta.fields)


class UpdateConversationBody(RequestBody):
    """The outcome of the conversation."""

    shown = RESPONSE_FIELDS
    acts = (
        Act.CONVERSATION_RESOLVE,
        Act.CONVERSATION_ABANDON,
    )
    whole = ("status",)

    status = ChoiceField(Conversation.Status.choices)
    outcome = ChoiceField(Conversation.Outcome.choices, required=False)
    version = StrictIntegerField(required=False)


class ConversationTransitionBody(RequestBody):
    """The state to reach, and the outcome for the customer."""

    acts = (
        Act.CONVERSATION_RESOLVE,
        Act.CONVERSATION_ABANDON,
    )

    to = ChoiceField(Conversation.Status.choices)
    outcome = ChoiceField(Conversation.Outcome.choices, required=False)
    version = StrictIntegerField(required=False)


class OperatorMessageBody(RequestBody):
    """A person's message to the customer."""

    text = StrictTextField(help_text=f"At most {EVENT_CHARACTERS} characters.")
    seen_length = StrictIntegerField(min_value=0, help_text="The `length` of the conversation when it was read.")


class RateConversationBody(RequestBody):
    """The customer's rating."""

    acts = (Act.CONVERSATION_RATE,)

    score = StrictIntegerField(max_value=RATINGS[-1], help_text="From 1 to 5; 5 is best.")
    comment = StrictTextField(
        required=False, help_text=f"At most {COMMENT_CHARACTERS} characters; none off the record."
    )


class ConversationFilters(AgentFilters):
    """Filter by agent, state, thread and customer."""

    status = ChoiceFilter(choices=Conversation.Status.choices)
    origin = ChoiceFilter(choices=Conversation.Origin.choices)
    channel = CharFilter()
    conversation_key = CharFilter()
    end_user_key = CharFilter()
    parent_id = IdFilter(
        field_name="parent_id", help_text="Conversations in which other agents were asked from this one."
    )
    outcome = ChoiceFilter(choices=Conversation.Outcome.choices)
    off_the_record = BooleanFilter()
    is_quarantined = BooleanFilter(field_name="quarantined_at", lookup_expr="isnull", exclude=True)
    has_external_agent = BooleanFilter(help_text="True: an external agent answers.")
    stuck = ChoiceFilter(
        choices=STUCK_TURN_CHOICES,
        method="by_turn",
        help_text="Conversations with a stuck turn, by the reason. For people.",
    )
    reported = ChoiceFilter(
        choices=list(REPORT_FILTERS.items()),
        method="by_report",
        help_text="Conversations with reported replies. For people.",
    )
    search = SearchFilter("conversation_key", "end_user_key")

    def by_report(self, rows: QuerySet[Conversation], name: str, value: str) -> QuerySet[Conversation]:
        """Return the conversations with a reported reply."""
        actor: Actor = self.request.auth
        if not actor.is_person:
            raise NotPermitted("Only people may look for reported replies. An agent's token cannot.")
        return rows.filter(pk__in=reported_conversation_ids(actor, value))

    def by_turn(self, rows: QuerySet[Conversation], name: str, value: str) -> QuerySet[Conversation]:
        """Return the conversations with a turn that is stuck for this reason."""
        actor: Actor = self.request.auth
        if not actor.is_person:
            raise NotPermitted("Only people may look for stuck turns. An agent's token cannot.")
        turns = Turn.objects.filter(stuck_turns(timezone.now())[value], tenant_id=actor.tenant_id)
        return rows.filter(pk__in=turns.values("conversation_id"))


class ConversationView(VersionedViewSet[Conversation]):
    """Conversations of the tenant; an agent sees its own."""

    acts: ClassVar = {
        "partial_update": (
            Act.CONVERSATION_RESOLVE,
            Act.CONVERSATION_ABANDON,
        ),
        "take-over": (Act.CONVERSATION_TAKE_OVER,),
        "hand-back": (Act.CONVERSATION_HAND_BACK,),
        "messages": (Act.MESSAGE_SEND,),
        "run-now": (Act.TURN_RUN,),
        "quarantine": (Act.CONVERSATION_QUARANTINE,),
        "release": (Act.CONVERSATION_RELEASE,),
        "rating": (Act.CONVERSATION_RATE,),
        "transition": (
            Act.CONVERSATION_RESOLVE,
            Act.CONVERSATION_ABANDON,
        ),
    }
    queryset = Conversation.objects.none()
    serializer_class = ConversationSerializer
    line_class = ConversationSummarySerializer
    filterset_class = ConversationFilters
    keeps_words = False

    def get_queryset(self) -> QuerySet[Conversation]:
        """Return the rows that the actor may see."""
        return Conversation.objects.visible_to(self.actor).of_customers().select_related("agent")

    def shown_again(self, kept: IdempotencyRecord) -> Response:
        """Return the message that was written, unless it was erased; otherwise the conversation as it is now."""
        if self.action != "messages":
            return super().shown_again(kept)
        written = Message.objects.get(tenant_id=self.actor.tenant_id, pk=kept.row_id or 0)
        return Response(MessageSerializer(written).data, status=kept.status)

    @extend_schema(request=UpdateConversationBody, responses=ConversationSerializer)
    def partial_update(self, request: Request, pk: str) -> Response:
        """Resolve or abandon a conversation by its `status`. Learning looks at it later, not in this request."""
        conversation = self.get_object()
        sent = UpdateConversationBody.read(request, self.actor, conversation)
        end_conversation(conversation, sent.values["status"], sent, actor=self.actor)
        return self.answer(conversation.pk, sent.ignored)

    @extend_schema(request=UpdateConversationBody, responses=ConversationSerializer)
    def update(self, request: Request, pk: str) -> Response:
        """Same as PATCH: no other field of a conversation can be written."""
        return self.partial_update(request, pk)

    @extend_schema(request=ConversationTransitionBody, responses=ConversationSerializer)
    @action(detail=True, methods=["post"])
    def transition(self, request: Request, pk: str) -> Response:
        """Resolve or abandon."""
        conversation = self.get_object()
        sent = ConversationTransitionBody.read(request, self.actor, conversation)
        end_conversation(conversation, sent.values["to"], sent, actor=self.actor)
        return self.answer(conversation.pk)

    take_over = decision_action(
        "take-over",
        Act.CONVERSATION_TAKE_OVER,
        take_over_conversation,
        ConversationSerializer,
        "Take over the conversation: a person answers, and the agent is locked out until it is handed back. People only.",
        OptionalVersionBody,
    )
    hand_back = decision_action(
        "hand-back",
        Act.CONVERSATION_HAND_BACK,
        hand_back,
        ConversationSerializer,
        "Hand the conversation back to the agent. People only.",
        OptionalVersionBody,
    )

    quarantine = decision_action(
        "quarantine",
        Act.CONVERSATION_QUARANTINE,
        quarantine_conversation,
        ConversationSerializer,
        "Quarantine a conversation, with a reason: nothing more is learned from it, and lessons and examples from it are not used."
        " People only.",
        ReasonedDecisionBody,
    )
    release = decision_action(
        "release",
        Act.CONVERSATION_RELEASE,
        release_conversation,
        ConversationSerializer,
        "Release a conversation from quarantine, with a reason. Rows that came of it stay in quarantine. People only.",
        ReasonedDecisionBody,
    )
    run_now = decision_action(
        "run-now",
        Act.TURN_RUN,
        run_turn_now,
        ConversationSerializer,
        "Answer now where the answer is delayed, without waiting for the next attempt. People only.",
        OptionalVersionBody,
    )

    @extend_schema(request=RateConversationBody, responses=ConversationSerializer)
    @action(detail=True, methods=["post"])
    def rating(self, request: Request, pk: str) -> Response:
        """Store the customer's rating of an ended conversation, once. Only with the token of its agent."""
        conversation = self.get_object()
        sent = RateConversationBody.read(request, self.actor)
        rate_conversation(conversation, actor=self.actor, **sent.only("score", "comment"))
        return self.answer(conversation.pk, sent.ignored)

    @extend_schema(request=OperatorMessageBody, responses={201: MessageSerializer})
    @action(detail=True, methods=["post"])
    def messages(self, request: Request, pk: str) -> Response:
        """Write to the customer of a conversation that was taken over. People only."""
        conversation = self.get_object()
        sent = OperatorMessageBody.read(request, self.actor)
        message = write_to_customer(conversation, actor=self.actor, **sent.only("text", "seen_length"))
        return Response(MessageSerializer(message).data, status=201)


def end_conversation(conversation: Conversation, to: str, sent: ParsedBody, *, actor: Actor) -> None:
    """End a conversation as resolved or abandoned."""
    check_transition(conversation, "status", to)
    outcome = sent.values.get("outcome")
    if to == Conversation.Status.RESOLVED:
        ended = Conversation.Outcome(outcome or Conversation.Outcome.UNKNOWN)
        resolve_conversation(conversation, actor=actor, outcome=ended, read_at=sent.read_at)
        return
    if outcome is not None:
        raise ValidationError({"outcome": ["Only a resolved conversation has an outcome."]})
    abandon_conversation(conversation, actor=actor, read_at=sent.read_at)
