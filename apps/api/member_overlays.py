"""How assistants are to work for the member who asks: their own words, and nobody else's to read or write (R035, R129)."""

from typing import ClassVar

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.agents import agent_id_named
from apps.api.bodies import Body, Number, Text
from apps.api.filters import AgentFilters
from apps.api.naming import as_sent
from apps.api.rows import STAMPS, Shown, agent_key
from apps.api.views import Rows
from apps.governance.actors import ANYWHERE
from apps.governance.governed_write import authorize
from apps.governance.policy.table import Act
from apps.personas.actions import create_member_overlay, write_member_overlay
from apps.personas.models import MemberOverlay
from apps.personas.rules import MEMBER_OVERLAY_CHARACTERS

TEXT = f"At most {MEMBER_OVERLAY_CHARACTERS} characters; empty, there is none."


class MemberOverlayRow(Shown[MemberOverlay]):
    """What the member asked of an assistant; `pending_text` is the assistant's own version, which the member reads first."""

    agent_key = agent_key()

    class Meta:
        model = MemberOverlay
        fields = ("id", "agent_key", "text", "pending_text", *STAMPS, "ignored_fields")
        read_only_fields = fields


class NewMemberOverlay(Body):
    """The first words for an assistant."""

    acts = (Act.MEMBER_OVERLAY_WRITE,)
    shown = frozenset(MemberOverlayRow.Meta.fields)

    agent_key = Text(help_text="An agent of the flavour `assistant`.")
    text = Text(help_text=TEXT)


class MemberOverlayChange(Body):
    """The full new text; what waited is settled with it."""

    acts = (Act.MEMBER_OVERLAY_WRITE,)
    shown = frozenset(MemberOverlayRow.Meta.fields)
    whole = ("text",)

    text = Text(required=False, help_text=TEXT)
    version = Number(required=False, help_text="The version of the words that was read.")


class MemberOverlayView(Rows[MemberOverlay]):
    """The words of the member who asks, one row for each assistant."""

    acts: ClassVar = {"create": (Act.MEMBER_OVERLAY_WRITE,), "partial_update": (Act.MEMBER_OVERLAY_WRITE,)}
    queryset = MemberOverlay.objects.none()
    serializer_class = MemberOverlayRow
    filterset_class = AgentFilters
    for_people = True

    def get_queryset(self) -> QuerySet[MemberOverlay]:
        """Nobody else's."""
        return MemberOverlay.objects.visible_to(self.actor).select_related("agent")

    @extend_schema(request=NewMemberOverlay, responses={201: MemberOverlayRow})
    def create(self, request: Request) -> Response:
        """Say for the first time how an assistant is to work for you. Its next session begins so."""
        authorize(self.actor, Act.MEMBER_OVERLAY_WRITE, self.actor.tenant_id, agent_id=ANYWHERE)
        sent = NewMemberOverlay.read(request, self.actor)
        agent_id = agent_id_named(sent.values["agent_key"], self.actor)
        with as_sent(agent="agent_key"):
            overlay = create_member_overlay(agent_id, actor=self.actor, text=sent.values["text"])
        return self.answer(overlay.pk, sent.ignored, 201)

    @extend_schema(request=MemberOverlayChange, responses=MemberOverlayRow)
    def partial_update(self, request: Request, pk: str) -> Response:
        """Say it anew. Sessions already open keep what they started with."""
        del pk
        overlay = self.get_object()
        sent = MemberOverlayChange.read(request, self.actor, overlay)
        write_member_overlay(overlay, actor=self.actor, text=sent.values["text"], read_at=sent.read_at)
        return self.answer(overlay.pk, sent.ignored)

    @extend_schema(request=MemberOverlayChange, responses=MemberOverlayRow)
    def update(self, request: Request, pk: str) -> Response:
        """The same; there is nothing but the text."""
        return self.partial_update(request, pk)
