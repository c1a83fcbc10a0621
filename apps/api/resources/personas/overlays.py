"""REST resources for persona overlays (one per agent) and member overlays (one per member and assistant).

A persona overlay is a person's addition to an agent's persona (R035). A member overlay tells an assistant how to work for one
member; nobody else may read or write it (R035, R129).
"""

from typing import ClassVar

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.framework.base_views import RowViewSet
from apps.api.framework.versions import VersionedViewSet
from apps.api.protocol.filters import AgentFilters, SearchFilter
from apps.api.protocol.request_bodies import RequestBody, StrictIntegerField, StrictTextField, rename_error_fields
from apps.api.protocol.serializers import STAMP_FIELDS, RowSerializer, agent_key
from apps.api.resources.agents.agents import agent_id_named
from apps.governance.actors import ANYWHERE
from apps.governance.governed_write import authorize
from apps.governance.policy.policy_table import Act
from apps.personas.actions import create_member_overlay, create_overlay, write_member_overlay, write_overlay
from apps.personas.models import MemberOverlay, PersonaOverlay
from apps.personas.rules import MEMBER_OVERLAY_CHARACTERS


class OverlaySerializer(RowSerializer[PersonaOverlay]):
    """A text that follows the persona in the prompt. An empty text means no overlay."""

    agent_key = agent_key()

    class Meta:
        model = PersonaOverlay
        fields = ("id", "agent_key", "text", *STAMP_FIELDS, "ignored_fields")
        read_only_fields = fields


RESPONSE_FIELDS = frozenset(OverlaySerializer.Meta.fields)


class CreateOverlayBody(RequestBody):
    """A new overlay of an agent."""

    shown = RESPONSE_FIELDS
    acts = (Act.OVERLAY_WRITE,)

    agent_key = StrictTextField()
    text = StrictTextField()


class UpdateOverlayBody(RequestBody):
    """The full new text. An empty text clears the overlay."""

    shown = RESPONSE_FIELDS
    acts = (Act.OVERLAY_WRITE,)
    whole = ("text",)

    text = StrictTextField(required=False)
    version = StrictIntegerField(required=False)
    reason = StrictTextField(required=False)


class OverlayFilters(AgentFilters):
    """Filter by agent and words."""

    search = SearchFilter("agent__key", "text")


class OverlayView(VersionedViewSet[PersonaOverlay]):
    """Persona overlays of the tenant's agents. An agent sees its own and writes none."""

    acts: ClassVar = {
        "create": (Act.OVERLAY_WRITE,),
        "partial_update": (Act.OVERLAY_WRITE,),
    }
    queryset = PersonaOverlay.objects.none()
    serializer_class = OverlaySerializer
    filterset_class = OverlayFilters

    def get_queryset(self) -> QuerySet[PersonaOverlay]:
        """Return the rows that the actor may see."""
        return PersonaOverlay.objects.visible_to(self.actor).select_related("agent")

    @extend_schema(request=CreateOverlayBody, responses={201: OverlaySerializer})
    def create(self, request: Request) -> Response:
        """Create an overlay of an agent's persona. Its next session carries it. People only."""
        authorize(self.actor, Act.OVERLAY_WRITE, self.actor.tenant_id, agent_id=ANYWHERE)
        sent = CreateOverlayBody.read(request, self.actor)
        agent_id = agent_id_named(sent.values["agent_key"], self.actor)
        overlay = create_overlay(agent_id, actor=self.actor, text=sent.values["text"])
        return self.answer(overlay.pk, sent.ignored, 201)

    @extend_schema(request=UpdateOverlayBody, responses=OverlaySerializer)
    def partial_update(self, request: Request, pk: str) -> Response:
        """Replace the text. Open sessions keep the text they started with."""
        overlay = self.get_object()
        sent = UpdateOverlayBody.read(request, self.actor, overlay)
        reason = sent.reason
        write_overlay(overlay, actor=self.actor, text=sent.values["text"], read_at=sent.read_at, reason=reason)
        return self.answer(overlay.pk, sent.ignored)

    @extend_schema(request=UpdateOverlayBody, responses=OverlaySerializer)
    def update(self, request: Request, pk: str) -> Response:
        """Same as PATCH: an overlay has no other field than its text."""
        return self.partial_update(request, pk)


MEMBER_OVERLAY_HELP = f"At most {MEMBER_OVERLAY_CHARACTERS} characters. Empty: no overlay."


class MemberOverlaySerializer(RowSerializer[MemberOverlay]):
    """A member's instructions to an assistant. `pending_text` is the assistant's own version, which the member reviews first."""

    agent_key = agent_key()

    class Meta:
        model = MemberOverlay
        fields = ("id", "agent_key", "text", "pending_text", *STAMP_FIELDS, "ignored_fields")
        read_only_fields = fields


class CreateMemberOverlayBody(RequestBody):
    """New instructions to an assistant."""

    acts = (Act.MEMBER_OVERLAY_WRITE,)
    shown = frozenset(MemberOverlaySerializer.Meta.fields)

    agent_key = StrictTextField(help_text="An agent of the flavour `assistant`.")
    text = StrictTextField(help_text=MEMBER_OVERLAY_HELP)


class UpdateMemberOverlayBody(RequestBody):
    """The full new text. A pending version of the assistant is settled with it."""

    acts = (Act.MEMBER_OVERLAY_WRITE,)
    shown = frozenset(MemberOverlaySerializer.Meta.fields)
    whole = ("text",)

    text = StrictTextField(required=False, help_text=MEMBER_OVERLAY_HELP)
    version = StrictIntegerField(required=False, help_text="The version of the text that was read.")


class MemberOverlayView(RowViewSet[MemberOverlay]):
    """The acting member's instructions, one row for each assistant."""

    acts: ClassVar = {"create": (Act.MEMBER_OVERLAY_WRITE,), "partial_update": (Act.MEMBER_OVERLAY_WRITE,)}
    queryset = MemberOverlay.objects.none()
    serializer_class = MemberOverlaySerializer
    filterset_class = AgentFilters
    for_people = True

    def get_queryset(self) -> QuerySet[MemberOverlay]:
        """Return the rows of the acting member only."""
        return MemberOverlay.objects.visible_to(self.actor).select_related("agent")

    @extend_schema(request=CreateMemberOverlayBody, responses={201: MemberOverlaySerializer})
    def create(self, request: Request) -> Response:
        """Write your first instructions to an assistant. Its next session starts with them."""
        authorize(self.actor, Act.MEMBER_OVERLAY_WRITE, self.actor.tenant_id, agent_id=ANYWHERE)
        sent = CreateMemberOverlayBody.read(request, self.actor)
        agent_id = agent_id_named(sent.values["agent_key"], self.actor)
        with rename_error_fields(agent="agent_key"):
            overlay = create_member_overlay(agent_id, actor=self.actor, text=sent.values["text"])
        return self.answer(overlay.pk, sent.ignored, 201)

    @extend_schema(request=UpdateMemberOverlayBody, responses=MemberOverlaySerializer)
    def partial_update(self, request: Request, pk: str) -> Response:
        """Change your instructions. Open sessions keep the text they started with."""
        overlay = self.get_object()
        sent = UpdateMemberOverlayBody.read(request, self.actor, overlay)
        write_member_overlay(overlay, actor=self.actor, text=sent.values["text"], read_at=sent.read_at)
        return self.answer(overlay.pk, sent.ignored)

    @extend_schema(request=UpdateMemberOverlayBody, responses=MemberOverlaySerializer)
    def update(self, request: Request, pk: str) -> Response:
        """Same as PATCH: the text is the only field."""
        return self.partial_update(request, pk)
