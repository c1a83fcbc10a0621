"""Identity cards: whom an agent represents, in general or on one line (R186, R187)."""

from typing import ClassVar

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.framework.versions import VersionedViewSet
from apps.api.protocol.filters import AgentFilters, CharFilter, SearchFilter
from apps.api.protocol.request_bodies import RequestBody, StrictIntegerField, StrictTextField
from apps.api.protocol.serializers import STAMP_FIELDS, RowSerializer, agent_key
from apps.api.resources.agents.agents import agent_id_named
from apps.governance.actors import ANYWHERE
from apps.governance.governed_write import authorize
from apps.governance.policy.policy_table import Act
from apps.personas.actions import create_identity_card, write_identity_card
from apps.personas.models import CARD_FIELDS, IdentityCard

WRITTEN_FIELDS = ("line_key", *CARD_FIELDS)


class IdentityCardSerializer(RowSerializer[IdentityCard]):
    """An identity card. An empty `line_key` marks the agent's own card."""

    agent_key = agent_key()

    class Meta:
        model = IdentityCard
        fields = ("id", "agent_key", *WRITTEN_FIELDS, *STAMP_FIELDS, "ignored_fields")
        read_only_fields = fields


RESPONSE_FIELDS = frozenset(IdentityCardSerializer.Meta.fields)


class _IdentityCardBody(RequestBody):
    """The fields of a card that people may write."""

    shown = RESPONSE_FIELDS
    acts = (Act.IDENTITY_CARD_WRITE,)

    line_key = StrictTextField(required=False)
    business_name = StrictTextField(required=False)
    assigned_name = StrictTextField(required=False)
    assigned_title = StrictTextField(required=False)
    hours = StrictTextField(required=False)
    timezone = StrictTextField(required=False)
    signature = StrictTextField(required=False)
    locale = StrictTextField(required=False)


class CreateIdentityCardBody(_IdentityCardBody):
    """A new card of an agent, in general or for one line."""

    agent_key = StrictTextField()


class UpdateIdentityCardBody(_IdentityCardBody):
    """New texts of a card."""

    whole = CARD_FIELDS

    version = StrictIntegerField(required=False)
    reason = StrictTextField(required=False)


class IdentityCardFilters(AgentFilters):
    """Filter by agent and line."""

    line_key = CharFilter(help_text="Key of the line.")
    search = SearchFilter("agent__key", "line_key", "business_name", "assigned_name")


class IdentityCardView(VersionedViewSet[IdentityCard]):
    """Identity cards of the tenant's agents. An agent sees its own and writes none."""

    acts: ClassVar = {
        "create": (Act.IDENTITY_CARD_WRITE,),
        "partial_update": (Act.IDENTITY_CARD_WRITE,),
    }
    queryset = IdentityCard.objects.none()
    serializer_class = IdentityCardSerializer
    filterset_class = IdentityCardFilters

    def get_queryset(self) -> QuerySet[IdentityCard]:
        """Return the rows that the actor may see."""
        return IdentityCard.objects.visible_to(self.actor).select_related("agent")

    @extend_schema(request=CreateIdentityCardBody, responses={201: IdentityCardSerializer})
    def create(self, request: Request) -> Response:
        """Create a card that says whom an agent represents. Its next session carries it. People only."""
        authorize(self.actor, Act.IDENTITY_CARD_WRITE, self.actor.tenant_id, agent_id=ANYWHERE)
        sent = CreateIdentityCardBody.read(request, self.actor)
        agent_id = agent_id_named(sent.values["agent_key"], self.actor)
        card = create_identity_card(agent_id, actor=self.actor, values=sent.only(*WRITTEN_FIELDS))
        return self.answer(card.pk, sent.ignored, 201)

    @extend_schema(request=UpdateIdentityCardBody, responses=IdentityCardSerializer)
    def partial_update(self, request: Request, pk: str) -> Response:
        """Change a card. Open sessions keep the text they started with."""
        card = self.get_object()
        sent = UpdateIdentityCardBody.read(request, self.actor, card)
        reason = sent.reason
        write_identity_card(
            card, actor=self.actor, values=sent.only(*WRITTEN_FIELDS), read_at=sent.read_at, reason=reason
        )
        return self.answer(card.pk, sent.ignored)

    @extend_schema(request=UpdateIdentityCardBody, responses=IdentityCardSerializer)
    def update(self, request: Request, pk: str) -> Response:
        """Replace the row: send every text."""
        return self.partial_update(request, pk)
