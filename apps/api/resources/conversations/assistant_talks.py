"""A member's own talks with assistants. Only that member can read them, in their own browser session (R129)."""

from typing import ClassVar

from django.db.models import QuerySet
from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.framework.base_views import ActorView, RowViewSet
from apps.api.framework.row_actions import decision_action
from apps.api.protocol.filters import AgentFilters, ChoiceFilter
from apps.api.protocol.request_bodies import (
    OptionalVersionBody,
    RequestBody,
    StrictBooleanField,
    StrictTextField,
    rename_error_fields,
)
from apps.api.protocol.serializers import STAMP_FIELDS, RowSerializer, agent_key
from apps.api.resources.agents.agents import agent_id_named
from apps.api.resources.conversations.messages import (
    KEY_PARAMETER,
    MESSAGE_RESPONSES,
    WAIT_PARAMETER,
    read_keyed_body,
    wait_for_reply,
)
from apps.api.resources.conversations.turn_results import wait_seconds
from apps.conversations.actions import abandon_conversation
from apps.conversations.member_talks import open_talk, send_talk_message
from apps.conversations.models import Conversation
from apps.conversations.rules import EVENT_CHARACTERS
from apps.governance.actors import ANYWHERE, Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import NotPermitted
from apps.governance.governed_write import authorize
from apps.governance.policy.policy_table import Act
from apps.runtime.wakeup import wake_worker_on_commit


class TalkSerializer(RowSerializer[Conversation]):
    """A talk of the member who asks; `messages/` and `events/` list its messages."""

    agent_key = agent_key()

    class Meta:
        model = Conversation
        fields = ("id", "agent_key", "status", "off_the_record", "erased_at", *STAMP_FIELDS, "ignored_fields")
        read_only_fields = fields


class OpenTalkBody(RequestBody):
    """The assistant, and whether the talk is off the record."""

    acts = (Act.CONVERSATION_TALK,)
    shown = frozenset(TalkSerializer.Meta.fields)

    agent_key = StrictTextField(help_text="An agent of the flavour `assistant`.")
    off_the_record = StrictBooleanField(
        required=False,
        help_text="The messages are erased fifteen minutes after the last one, or when the talk is closed.",
    )


class TalkMessageBody(RequestBody):
    """A message of the member."""

    text = StrictTextField(help_text=f"At most {EVENT_CHARACTERS} characters.")
    idempotency_key = StrictTextField(
        required=False, max_length=200, help_text="For clients that cannot send the header."
    )


class TalkFilters(AgentFilters):
    """Filter by agent and state."""

    status = ChoiceFilter(choices=Conversation.Status.choices)


class TalkView(RowViewSet[Conversation]):
    """Talks of the member who asks with the tenant's assistants."""

    acts: ClassVar = {"create": (Act.CONVERSATION_TALK,), "close": (Act.CONVERSATION_ABANDON,)}
    queryset = Conversation.objects.none()
    serializer_class = TalkSerializer
    filterset_class = TalkFilters
    for_people = True

    def get_queryset(self) -> QuerySet[Conversation]:
        """Return the talks of the acting member only."""
        return talks_of(self.actor)

    @extend_schema(request=OpenTalkBody, responses={201: TalkSerializer})
    def create(self, request: Request) -> Response:
        """Begin a talk. Its member, its assistant and whether it is off the record cannot change afterwards."""
        authorize(self.actor, Act.CONVERSATION_TALK, self.actor.tenant_id, agent_id=ANYWHERE)
        sent = OpenTalkBody.read(request, self.actor)
        agent_id = agent_id_named(sent.values["agent_key"], self.actor)
        with rename_error_fields(agent="agent_key"):
            talk = open_talk(agent_id, actor=self.actor, **sent.only("off_the_record"))
        return self.answer(talk.pk, sent.ignored, 201)

    close = decision_action(
        "close",
        Act.CONVERSATION_ABANDON,
        abandon_conversation,
        TalkSerializer,
        "End a talk. It takes no more messages. It can still be read, unless it is off the record.",
        OptionalVersionBody,
    )


class TalkMessageView(ActorView):
    """Takes a member's messages in one of their talks."""

    acts: ClassVar = {"post": (Act.CONVERSATION_TALK,)}
    waiting: ClassVar = frozenset({"post"})
    # A message carries its own idempotency key.
    has_own_keys = True

    @extend_schema(request=TalkMessageBody, parameters=[WAIT_PARAMETER, KEY_PARAMETER], responses=MESSAGE_RESPONSES)
    def post(self, request: Request, pk: str) -> Response:
        """Send a message in one of your talks; with `wait`, return the reply if it comes in time. People only."""
        if not self.actor.is_person:
            raise NotPermitted("Only members have talks. An agent's token cannot read or write them.")
        seconds = wait_seconds(request)
        with acting_as(self.actor):
            talk = self.talks(self.actor).filter(pk=pk).first()
            if talk is None:
                raise Http404
            sent = read_keyed_body(TalkMessageBody, request, self.actor)
            event = send_talk_message(talk, actor=self.actor, **sent.values)
            wake_worker_on_commit(talk.tenant_id, talk.pk)
        return wait_for_reply(event.pk, seconds, actor=self.actor)

    def talks(self, actor: Actor) -> QuerySet[Conversation]:
        """Return the member's talks with assistants."""
        return talks_of(actor)


def talks_of(actor: Actor) -> QuerySet[Conversation]:
    """Return the member's talks with assistants."""
    return Conversation.objects.visible_to(actor).talks_of(actor.user_id).select_related("agent")
