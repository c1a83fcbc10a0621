"""Prices: what models cost the tenant from a moment on, above the list that ships with the product."""

from typing import ClassVar

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import DateTimeField

from apps.api.bodies import Body, Number, Text
from apps.api.filters import CharFilter, FilterSet, SearchFilter
from apps.api.rows import STAMPS, Shown
from apps.api.views import Rows
from apps.governance.governed_write import authorize
from apps.governance.policy.table import Act
from apps.tenants.endpoints.actions import set_price, withdraw_price
from apps.tenants.models import ModelPrice

RATES = (
    *("input_micro_usd", "output_micro_usd"),
    *("cache_read_micro_usd", "cache_write_5m_micro_usd", "cache_write_1h_micro_usd"),
)
MICRO = "Micro-dollars for a million tokens: 2000000 is two dollars."


class PriceRow(Shown[ModelPrice]):
    """What a model costs, in micro-dollars for a million tokens."""

    class Meta:
        model = ModelPrice
        fields = ("id", "model", "valid_from", *RATES, *STAMPS, "ignored_fields")
        read_only_fields = fields


class NewPrice(Body):
    """A model's price from a moment on."""

    acts = (Act.PRICE_SET,)
    shown = frozenset(PriceRow.Meta.fields)

    model = Text(help_text="A model's name, or a beginning with a star; the longest that fits decides.")
    valid_from = DateTimeField(help_text="Calls of turns that are taken from then on are priced so.")
    input_micro_usd = Number(min_value=0, help_text=MICRO)
    output_micro_usd = Number(min_value=0, help_text=MICRO)
    cache_read_micro_usd = Number(min_value=0, help_text=MICRO)
    cache_write_5m_micro_usd = Number(min_value=0, help_text=MICRO)
    cache_write_1h_micro_usd = Number(min_value=0, help_text=MICRO)
    reason = Text(required=False)


class PriceFilters(FilterSet):
    """By model."""

    model = CharFilter()
    search = SearchFilter("model")


class PriceView(Rows[ModelPrice]):
    """Prices of the tenant; admins set them."""

    acts: ClassVar = {"create": (Act.PRICE_SET,), "destroy": (Act.PRICE_WITHDRAW,)}
    queryset = ModelPrice.objects.none()
    serializer_class = PriceRow
    filterset_class = PriceFilters
    for_people = True

    def get_queryset(self) -> QuerySet[ModelPrice]:
        """Those of the tenant."""
        return ModelPrice.objects.visible_to(self.actor)

    @extend_schema(request=NewPrice, responses={201: PriceRow})
    def create(self, request: Request) -> Response:
        """Set a price. What was charged before stays as it was."""
        authorize(self.actor, Act.PRICE_SET, self.actor.tenant_id)
        sent = NewPrice.read(request, self.actor)
        model, since, reason = sent.values["model"], sent.values["valid_from"], sent.reason
        price = set_price(model, since, sent.only(*RATES), actor=self.actor, reason=reason)
        return self.answer(price.pk, sent.ignored, 201)

    @extend_schema(responses={204: None})
    def destroy(self, request: Request, pk: str) -> Response:
        """Withdraw it: the one before it holds again, or the product's list."""
        del request, pk
        withdraw_price(self.get_object(), actor=self.actor)
        return Response(status=204)
