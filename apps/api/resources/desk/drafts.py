"""Drafts: replies that wait for a person, who sends them as they are, sends an edited text, or discards them (R134, R138)."""

from typing import ClassVar

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.framework.base_views import RowViewSet
from apps.api.protocol.filters import AgentFilters, ChoiceFilter, IdFilter
from apps.api.protocol.request_bodies import RequestBody, StrictIntegerField, StrictTextField
from apps.api.protocol.serializers import STAMP_FIELDS, RowSerializer, agent_key
from apps.desk.models import Draft
from apps.governance.policy.policy_table import Act
from apps.runtime.turns.operator_replies import decline_draft, send_reviewed_draft

VERSION_HELP = "The draft's version that was read."


class GroundingFactSerializer(serializers.Serializer[dict[str, object]]):
    """One fact that the agent had before it wrote."""

    kind = serializers.ChoiceField(["skill", "tool", "profile"])
    name = serializers.CharField()
    record_id = serializers.IntegerField(allow_null=True)


class DraftSerializer(RowSerializer[Draft]):
    """A reply as the agent wrote it, its grounding, and the decision on it."""

    agent_key = agent_key()
    conversation_id = serializers.IntegerField(read_only=True)
    message_id = serializers.IntegerField(read_only=True, allow_null=True)
    facts = GroundingFactSerializer(many=True, read_only=True)
    text_sha256 = serializers.CharField(read_only=True, help_text="Send it back as `reviewed_sha256` to approve.")

    class Meta:
        model = Draft
        fields = (
            "id",
            "agent_key",
            "conversation_id",
            "turn_id",
            "text",
            "text_sha256",
            "grounding",
            "facts",
            "status",
            "sent_text",
            "reason_code",
            "reason",
            "decided_by",
            "decided_at",
            "message_id",
            *STAMP_FIELDS,
            "ignored_fields",
        )
        read_only_fields = fields


class SendDraftBody(RequestBody):
    """An approval of exactly the text that was read."""

    reviewed_sha256 = StrictTextField(help_text="The `text_sha256` that was read.")
    version = StrictIntegerField(required=False, help_text=VERSION_HELP)


class SendEditedDraftBody(SendDraftBody):
    """The text to send instead of the agent's."""

    sent_text = StrictTextField()


class DiscardDraftBody(RequestBody):
    """The reason code of a discarded draft, and an optional explanation."""

    about = RequestBody.about - {"reason"}

    reason_code = serializers.ChoiceField(Draft.Reason.choices)
    reason = StrictTextField(required=False)
    version = StrictIntegerField(required=False, help_text=VERSION_HELP)


class DraftFilters(AgentFilters):
    """Filter by agent, conversation, state and label."""

    conversation_id = IdFilter()
    status = ChoiceFilter(choices=Draft.Status.choices)
    grounding = ChoiceFilter(choices=Draft._meta.get_field("grounding").choices)


class DraftView(RowViewSet[Draft]):
    """Drafts. An agent reads those of its conversations and decides on none."""

    acts: ClassVar = {
        "send": (Act.DRAFT_SEND,),
        "send-edited": (Act.DRAFT_SEND_EDITED,),
        "discard": (Act.DRAFT_DISCARD,),
    }
    queryset = Draft.objects.none()
    in_bulk = ("discard",)
    serializer_class = DraftSerializer
    filterset_class = DraftFilters
    keeps_words = False

    def get_queryset(self) -> QuerySet[Draft]:
        """Return the rows that the actor may see."""
        return Draft.objects.visible_to(self.actor).select_related("agent", "conversation")

    @extend_schema(request=SendDraftBody, responses=DraftSerializer)
    @action(detail=True, methods=["post"])
    def send(self, request: Request, pk: str) -> Response:
        """Send the draft to the customer as the agent wrote it. People only."""
        draft = self.get_object()
        sent = SendDraftBody.read(request, self.actor)
        send_reviewed_draft(
            draft, actor=self.actor, reviewed_sha256=sent.values["reviewed_sha256"], read_at=sent.read_at
        )
        return self.answer(draft.pk, sent.ignored)

    @extend_schema(request=SendEditedDraftBody, responses=DraftSerializer)
    @action(detail=True, methods=["post"], url_path="send-edited")
    def send_edited(self, request: Request, pk: str) -> Response:
        """Send an edited text to the customer; both texts are kept. People only."""
        draft = self.get_object()
        sent = SendEditedDraftBody.read(request, self.actor)
        seen, text = sent.values["reviewed_sha256"], sent.values["sent_text"]
        send_reviewed_draft(draft, actor=self.actor, reviewed_sha256=seen, text=text, read_at=sent.read_at)
        return self.answer(draft.pk, sent.ignored)

    @extend_schema(request=DiscardDraftBody, responses=DraftSerializer)
    @action(detail=True, methods=["post"])
    def discard(self, request: Request, pk: str) -> Response:
        """Discard the draft; nothing is sent. People only."""
        draft = self.get_object()
        sent = DiscardDraftBody.read(request, self.actor)
        values = sent.only("reason_code", "reason")
        decline_draft(draft, actor=self.actor, read_at=sent.read_at, **values)
        return self.answer(draft.pk, sent.ignored)
