"""Identity cards: whom an agent represents, always or on one line (R186, R187)."""

from typing import ClassVar

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from apps.api.framework.versions import Versioned
from apps.api.protocol.filters import AgentFilters, CharFilter, SearchFilter
from apps.api.protocol.request_bodies import Body, Number, Text
from apps.api.protocol.serializers import STAMPS, Shown, agent_key
from apps.api.resources.agents.agents import agent_id_named
from apps.governance.actors import ANYWHERE
from apps.governance.governed_write import authorize
from apps.governance.policy.table import Act
from apps.personas.actions import create_identity_card, write_identity_card
from apps.personas.models import CARD_TEXTS, IdentityCard

WRITTEN = ("line_key", *CARD_TEXTS)


class IdentityCardRow(Shown[IdentityCard]):
    """A card; an empty `line_key` marks the agent's own."""

    agent_key = agent_key()

    class Meta:
        model = IdentityCard
        fields = ("id", "agent_key", *WRITTEN, *STAMPS, "ignored_fields")
        read_only_fields = fields


SHOWN = frozenset(IdentityCardRow.Meta.fields)


class _Card(Body):
    """What people may write on a card."""

    shown = SHOWN
    acts = (Act.IDENTITY_CARD_WRITE,)

    line_key = Text(required=False)
    business_name = Text(required=False)
    assigned_name = Text(required=False)
    assigned_title = Text(required=False)
    hours = Text(required=False)
    timezone = Text(required=False)
    signature = Text(required=False)
    locale = Text(required=False)


class NewIdentityCard(_Card):
    """A card of an agent, its own or one line's."""

    agent_key = Text()


class IdentityCardChange(_Card):
    """New words on a card."""

    whole = CARD_TEXTS

    version = Number(required=False)
    reason = Text(required=False)


class IdentityCardFilters(AgentFilters):
    """By agent and line."""

    line_key = CharFilter(help_text="Key of the line.")
    search = SearchFilter("agent__key", "line_key", "business_name", "assigned_name")


class IdentityCardView(Versioned[IdentityCard]):
    """Cards of the tenant's agents; an agent sees its own and writes none."""

    acts: ClassVar = {
        "create": (Act.IDENTITY_CARD_WRITE,),
        "partial_update": (Act.IDENTITY_CARD_WRITE,),
    }
    queryset = IdentityCard.objects.none()
    serializer_class = IdentityCardRow
    filterset_class = IdentityCardFilters

    def get_queryset(self) -> QuerySet[IdentityCard]:
        """Those the actor sees."""
        return IdentityCard.objects.visible_to(self.actor).select_related("agent")

    @extend_schema(request=NewIdentityCard, responses={201: IdentityCardRow})
    def create(self, request: Request) -> Response:
        """Say whom an agent represents. Its next session reads it. People only."""
        authorize(self.actor, Act.IDENTITY_CARD_WRITE, self.actor.tenant_id, agent_id=ANYWHERE)
        sent = NewIdentityCard.read(request, self.actor)
        agent_id = agent_id_named(sent.values["agent_key"], self.actor)
        card = create_identity_card(agent_id, actor=self.actor, values=sent.only(*WRITTEN))
        return self.answer(card.pk, sent.ignored, 201)

    @extend_schema(request=IdentityCardChange, responses=IdentityCardRow)
    def partial_update(self, request: Request, pk: str) -> Response:
        """Change what the card says. Sessions already open keep what they started with."""
        del pk
        card = self.get_object()
        sent = IdentityCardChange.read(request, self.actor, card)
        reason = sent.reason
        write_identity_card(card, actor=self.actor, values=sent.only(*WRITTEN), read_at=sent.read_at, reason=reason)
        return self.answer(card.pk, sent.ignored)

    @extend_schema(request=IdentityCardChange, responses=IdentityCardRow)
    def update(self, request: Request, pk: str) -> Response:
        """The same with every text sent."""
        return self.partial_update(request, pk)
