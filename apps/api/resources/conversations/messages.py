"""Messages: what customers wrote goes in, transcripts and replies come out (R008, R126, R127)."""

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
from apps.conversations.models import InboundEvent, Message
from apps.conversations.rules import EVENT_CHARACTERS, LINE_CHARACTERS
from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.policy.policy_table import Act
from apps.runtime.models import Turn
from apps.runtime.streaming.reply_pubsub import announce_listener
from apps.runtime.wakeup import wake_worker_on_commit
from apps.tenants.rules import MOST_STEPS

WAIT_PARAMETER = OpenApiParameter(
    "wait", int, description=f"Seconds to wait for the reply, 0 to {WAIT_SECONDS}. Default 0."
)
MESSAGE_RESPONSES: Final[dict[Any, OpenApiResponse]] = {  # Any: a status, or one with a type of content
    200: OpenApiResponse(MessageResultSerializer, "The reply."),
    202: OpenApiResponse(MessageResultSerializer, "Taken; the reply will be found at `poll`."),
    **refusal_response(502, "Taken, but the turn failed while it was waited for."),
}
KEY_PARAMETER = OpenApiParameter(
    KEY_HEADER, str, OpenApiParameter.HEADER, description="Sent again, it is the same message."
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
    """What somebody wrote, on which thread, and a key that makes sending it twice harmless."""

    acts = (Act.MESSAGE_RECEIVE,)

    agent_key = StrictTextField(
        required=False, help_text="Which agent it is for; an agent's token says that by itself."
    )
    channel = StrictTextField(default="http")
    conversation_key = StrictTextField(max_length=200, allow_blank=False)
    end_user_key = StrictTextField(required=False, max_length=200)
    user_hash = StrictTextField(
        required=False,
        max_length=64,
        help_text="HMAC-SHA256 of `end_user_key` under the tenant's key for signatures, in lower-case hex: it proves the customer.",
    )
    sender_name = StrictTextField(required=False, max_length=120)
    line = StrictTextField(
        required=False,
        source="line_key",
        max_length=LINE_CHARACTERS,
        help_text="Which line of the channel it came in on.",
    )
    off_the_record = StrictBooleanField(
        required=False,
        help_text="Settled by the message that opens the conversation: nothing is learned from it. Left out, it is what the"
        " thread was before, and false on a new one.",
    )
    stream = StrictBooleanField(
        required=False,
        help_text="True where somebody is about to open the conversation's stream and wants to hear the answer.",
    )
    max_steps = StrictIntegerField(
        required=False,
        max_value=MOST_STEPS,
        help_text="How often the turn that answers it may ask the model, instead of what the agent and the channel say.",
    )
    text = StrictTextField(help_text=f"At most {EVENT_CHARACTERS} characters.")
    idempotency_key = StrictTextField(
        required=False, max_length=200, help_text=f"Where the header {KEY_HEADER} cannot be sent."
    )


class MessageFilters(FilterSet):
    """By conversation."""

    conversation_id = IdFilter(required=True, help_text="Whose transcript.")


class MessageView(RowViewSet[Message]):
    """Transcripts, and the way in for what customers write."""

    acts: ClassVar = {
        "create": (Act.MESSAGE_RECEIVE,),
    }
    queryset = Message.objects.none()
    serializer_class = MessageSerializer
    filterset_class = MessageFilters
    pagination_class = TranscriptPagination
    waiting = frozenset({"post"})
    # A message is itself what its key is of.
    has_own_keys = True

    def get_queryset(self) -> QuerySet[Message]:
        """Those of conversations the actor sees."""
        return Message.objects.filter(tenant_id=self.actor.tenant_id)

    @extend_schema(request=ReceiveMessageBody, parameters=[WAIT_PARAMETER, KEY_PARAMETER], responses=MESSAGE_RESPONSES)
    def create(self, request: Request) -> Response:
        """Take a message; with `wait`, answer with the reply if it comes in time."""
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
    """Where a message that was taken stands."""

    waiting: ClassVar = frozenset({"get"})

    @extend_schema(parameters=[WAIT_PARAMETER], responses=MessageResultSerializer)
    def get(self, request: Request, pk: str) -> Response:
        """The reply, or how far it is. A failed turn is an answer here, with its reason."""
        seconds = wait_seconds(request)
        return _result_response(wait_for_turn(int(pk), seconds, actor=self.actor), status=200)


def read_keyed_body(body: type[RequestBody], request: Request, actor: Actor) -> ParsedBody:
    """What was said; the header's key wins over the body's, and one of them has to be there."""
    key = request.headers.get(KEY_HEADER)
    sent = body.read(request, actor, None, **({"idempotency_key": key} if key else {}))
    if not sent.values.get("idempotency_key"):
        raise ValidationError(
            {"idempotency_key": [f"Send the header {KEY_HEADER} with a fresh key per message, such as a UUID."]}
        )
    return sent


def wait_for_reply(event_id: int, seconds: int, *, actor: Actor) -> Response:
    """The reply to what was just said, or where it will be found."""
    outcome = wait_for_turn(event_id, seconds, actor=actor)
    if outcome.status == Turn.Status.FAILED:
        raise TurnFailedError(f"The message was taken, but the turn failed. {outcome.failure}", outcome.failure_code)
    return _result_response(outcome)


def _result_response(outcome: MessageResult, status: int | None = None) -> Response:
    poll = reverse("event-detail", args=[outcome.event_id])
    status = status or (200 if outcome.is_final else 202)
    return Response(outcome.shown(poll), status=status, headers={"Location": poll} if status == 202 else None)
