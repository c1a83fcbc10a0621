"""Messages: incoming customers' messages, transcripts and replies (R008, R126, R127)."""

from functools import partial
from typing import Any, ClassVar, Final

from django.db import transaction
from django.db.models import QuerySet
from django.urls import reverse
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.framework.base_views import ActorView, RowViewSet
from apps.api.models import KEY_CHARACTERS
from apps.api.openapi.schema import refusal_response
from apps.api.protocol.exceptions import TurnFailedError
from apps.api.protocol.filters import FilterSet, IdFilter
from apps.api.protocol.idempotency import KEY_HEADER
from apps.api.protocol.pagination import TranscriptPagination
from apps.api.protocol.request_bodies import (
    ParsedBody,
    RequestBody,
    StrictBooleanField,
    StrictIntegerField,
    StrictTextField,
)
from apps.api.protocol.serializers import RowSerializer
from apps.api.resources.agents.agents import agent_id_named
from apps.api.resources.conversations.turn_results import (
    WAIT_SECONDS,
    MessageResult,
    MessageResultSerializer,
    wait_for_turn,
    wait_seconds,
)
from apps.conversations.actions import receive_message
from apps.conversations.models import Conversation, InboundEvent, Message
from apps.conversations.rules import EVENT_CHARACTERS, LINE_CHARACTERS
from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.policy.policy_table import Act
from apps.runtime.models import Turn
from apps.runtime.streaming.reply_pubsub import announce_listener
from apps.runtime.turn_store.journal_rows import SENDERS
from apps.runtime.turns.waiting_messages import waiting_events
from apps.runtime.wakeup import wake_worker_on_commit
from apps.tenants.rules import MOST_STEPS

WAIT_PARAMETER = OpenApiParameter(
    "wait", int, description=f"Seconds to wait for the reply, 0 to {WAIT_SECONDS}. Default 0."
)
MESSAGE_RESPONSES: Final[dict[Any, OpenApiResponse]] = {  # Any: a status, or one with a content type
    200: OpenApiResponse(MessageResultSerializer, "The reply."),
    202: OpenApiResponse(MessageResultSerializer, "Accepted; the reply will be at `poll`."),
    **refusal_response(502, "Accepted, but the turn failed while the request waited."),
}
KEY_PARAMETER = OpenApiParameter(
    KEY_HEADER,
    {"type": "string", "minLength": 1, "maxLength": KEY_CHARACTERS},
    OpenApiParameter.HEADER,
    required=True,
    description="Required: a new key for each request, such as a UUID. A request sent again under the same key is the same request."
    " A client that cannot send headers sends `idempotency_key` in the body instead.",
)


class MessageSerializer(RowSerializer[Message]):
    """One step of a transcript."""

    conversation_id = serializers.IntegerField(read_only=True)
    tool_calls = serializers.ListField(child=serializers.DictField(), read_only=True)

    class Meta:
        model = Message
        fields = (
            "id",
            "conversation_id",
            "position",
            "sender",
            "text",
            "tool_calls",
            "turn_id",
            "is_reply",
            "created_at",
        )
        read_only_fields = fields


class ReceiveMessageBody(RequestBody):
    """A customer's message, its thread, and an idempotency key."""

    acts = (Act.MESSAGE_RECEIVE,)

    agent_key = StrictTextField(
        required=False, help_text="The agent that the message is for. An agent's token implies it."
    )
    channel = StrictTextField(default="http")
    conversation_key = StrictTextField(max_length=200, allow_blank=False)
    end_user_key = StrictTextField(required=False, max_length=200)
    user_hash = StrictTextField(
        required=False,
        max_length=64,
        help_text="HMAC-SHA256 of `end_user_key` under the tenant's key for signatures, in lower-case hex. It proves the customer.",
    )
    sender_name = StrictTextField(required=False, max_length=120)
    line = StrictTextField(
        required=False,
        source="line_key",
        max_length=LINE_CHARACTERS,
        help_text="The line of the channel on which the message came in.",
    )
    off_the_record = StrictBooleanField(
        required=False,
        help_text="Set by the message that opens the conversation: nothing is learned from it. Left out, a new conversation"
        " continues as the thread was before; on a new thread it is false.",
    )
    stream = StrictBooleanField(
        required=False,
        help_text="True if a client is about to open the conversation's stream to follow the reply.",
    )
    max_steps = StrictIntegerField(
        required=False,
        max_value=MOST_STEPS,
        help_text="Highest number of model calls in the turn that answers, instead of the agent's or the channel's limit.",
    )
    text = StrictTextField(help_text=f"At most {EVENT_CHARACTERS} characters.")
    idempotency_key = StrictTextField(
        required=False, max_length=200, help_text=f"For clients that cannot send the header {KEY_HEADER}."
    )


class MessageFilters(FilterSet):
    """Filter by conversation."""

    conversation_id = IdFilter(required=True, help_text="Whose transcript.")


class MessageView(RowViewSet[Message]):
    """Transcripts, and the address that takes customers' messages."""

    acts: ClassVar = {
        "create": (Act.MESSAGE_RECEIVE,),
    }
    queryset = Message.objects.none()
    serializer_class = MessageSerializer
    filterset_class = MessageFilters
    pagination_class = TranscriptPagination
    waiting = frozenset({"post"})
    # A message carries its own idempotency key.
    has_own_keys = True

    def get_queryset(self) -> QuerySet[Message]:
        """Return the messages of conversations that the actor may see."""
        return Message.objects.filter(tenant_id=self.actor.tenant_id)

    def get_paginated_response(self, data: Any) -> Response:
        """Return a page. The last one also has the messages that wait for an answer."""
        response = super().get_paginated_response(data)
        is_last = response.data["next"] is None
        response.data["waiting"] = [_shown_waiting(event) for event in self._waiting_events()] if is_last else []
        return response

    def _waiting_events(self) -> QuerySet[InboundEvent]:
        conversations = Conversation.objects.visible_to(self.actor)
        conversation = conversations.filter(pk=self.request.query_params["conversation_id"]).first()
        return waiting_events(conversation) if conversation else InboundEvent.objects.none()

    @extend_schema(request=ReceiveMessageBody, parameters=[WAIT_PARAMETER, KEY_PARAMETER], responses=MESSAGE_RESPONSES)
    def create(self, request: Request) -> Response:
        """Take a message; with `wait`, return the reply if it comes in time."""
        seconds = wait_seconds(request)
        with acting_as(self.actor):
            sent = read_keyed_body(ReceiveMessageBody, request, self.actor)
            is_heard = sent.values.pop("stream", False)
            event = self._receive(sent)
            if is_heard:
                transaction.on_commit(partial(announce_listener, event.conversation_id))
            wake_worker_on_commit(event.tenant_id, event.conversation_id, event.debounce_seconds)
        return wait_for_reply(event.pk, seconds, actor=self.actor)

    def _receive(self, sent: ParsedBody) -> InboundEvent:
        agent_id = agent_id_named(sent.values.pop("agent_key", None), self.actor)
        return receive_message(agent_id, actor=self.actor, **sent.values)


class InboundEventView(ActorView):
    """The status of a message that was accepted."""

    waiting: ClassVar = frozenset({"get"})

    @extend_schema(parameters=[WAIT_PARAMETER], responses=MessageResultSerializer)
    def get(self, request: Request, pk: str) -> Response:
        """Return the reply, or the status. A failed turn is a normal response with its reason."""
        seconds = wait_seconds(request)
        return _result_response(wait_for_turn(int(pk), seconds, actor=self.actor), status=200)


def _shown_waiting(event: InboundEvent) -> dict[str, Any]:
    """Return a message that waits for an answer, as a page of the transcript shows it."""
    sender = SENDERS[InboundEvent.Kind(event.kind)]
    return {"event_id": event.pk, "sender": sender.value, "text": event.text, "received_at": event.received_at}


def read_keyed_body(body: type[RequestBody], request: Request, actor: Actor) -> ParsedBody:
    """Parse the body. An idempotency key is required; the one in the header takes precedence over the body's."""
    key = request.headers.get(KEY_HEADER)
    sent = body.read(request, actor, None, **({"idempotency_key": key} if key else {}))
    if not sent.values.get("idempotency_key"):
        raise ValidationError(
            {"idempotency_key": [f"Send the header {KEY_HEADER} with a new key for each message, such as a UUID."]}
        )
    return sent


def wait_for_reply(event_id: int, seconds: int, *, actor: Actor) -> Response:
    """Return the reply to a message that was just accepted, or the address to poll."""
    outcome = wait_for_turn(event_id, seconds, actor=actor)
    if outcome.status == Turn.Status.FAILED:
        raise TurnFailedError(f"The message was accepted, but the turn failed. {outcome.failure}", outcome.failure_code)
    return _result_response(outcome)


def _result_response(outcome: MessageResult, status: int | None = None) -> Response:
    poll = reverse("event-detail", args=[outcome.event_id])
    status = status or (200 if outcome.is_final else 202)
    return Response(outcome.shown(poll), status=status, headers={"Location": poll} if status == 202 else None)
