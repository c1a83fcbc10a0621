"""REST resources for model endpoints and model prices: a tenant's own model servers, and its prices from a date on.

An endpoint's key can be written and is never returned. A tenant's price overrides the price list that ships with the product.
"""

from typing import ClassVar

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BooleanField, CharField, DateTimeField, IntegerField, Serializer

from apps.api.framework.base_views import ActorView, RowViewSet
from apps.api.protocol.filters import CharFilter, FilterSet, SearchFilter
from apps.api.protocol.request_bodies import RequestBody, StrictIntegerField, StrictTextField
from apps.api.protocol.serializers import STAMP_FIELDS, RowSerializer
from apps.governance.governed_write import authorize
from apps.governance.policy.policy_table import Act
from apps.runtime.endpoint_check import EndpointCheck, try_endpoint
from apps.tenants.endpoints.actions import (
    amend_endpoint,
    create_endpoint,
    remove_endpoint,
    rotate_endpoint_key,
    set_price,
    withdraw_price,
)
from apps.tenants.models import Endpoint, ModelPrice


class EndpointSerializer(RowSerializer[Endpoint]):
    """An endpoint, and whether a key is stored for it."""

    has_key = BooleanField(read_only=True)

    class Meta:
        model = Endpoint
        fields = ("id", "key", "title", "base_url", "has_key", *STAMP_FIELDS, "ignored_fields")
        read_only_fields = fields


class CreateEndpointBody(RequestBody):
    """Key, title, address and API key of an endpoint."""

    acts = (Act.ENDPOINT_CREATE,)
    shown = frozenset(EndpointSerializer.Meta.fields)

    key = StrictTextField()
    title = StrictTextField()
    base_url = StrictTextField(help_text="Such as https://models.example.")
    api_key = StrictTextField(required=False, help_text="Stored encrypted; never returned.")


class UpdateEndpointBody(RequestBody):
    """Another title or address. If the server changes, the key is deleted."""

    acts = (Act.ENDPOINT_AMEND,)
    shown = frozenset(EndpointSerializer.Meta.fields)
    whole = ("title", "base_url")

    title = StrictTextField(required=False)
    base_url = StrictTextField(required=False)
    version = StrictIntegerField(required=False, help_text="The endpoint's version that was read.")


class RotateEndpointKeyBody(RequestBody):
    """A new API key."""

    about = frozenset[str]()

    api_key = StrictTextField(help_text="Empty: the endpoint has no key.")
    version = StrictIntegerField(required=False, help_text="The endpoint's version that was read.")


class EndpointTestBody(RequestBody):
    """The model to test."""

    about = frozenset[str]()
    bare = True

    model = StrictTextField(required=False, help_text="Left out: the installation's default model.")


class EndpointTestSerializer(Serializer[EndpointCheck]):
    """The result of the test call."""

    is_ok = BooleanField()
    detail = CharField()
    code = CharField(help_text="Empty if the model answered; otherwise an error code of the model.")
    model = CharField()
    milliseconds = IntegerField()


class EndpointFilters(FilterSet):
    """Filter by key."""

    key = CharFilter()
    search = SearchFilter("key", "title", "base_url")


class EndpointView(RowViewSet[Endpoint]):
    """Endpoints of the tenant; admins change them."""

    acts: ClassVar = {
        "create": (Act.ENDPOINT_CREATE,),
        "partial_update": (Act.ENDPOINT_AMEND,),
        "rotate-key": (Act.ENDPOINT_ROTATE_KEY,),
        "destroy": (Act.ENDPOINT_REMOVE,),
    }
    queryset = Endpoint.objects.none()
    serializer_class = EndpointSerializer
    filterset_class = EndpointFilters
    for_people = True

    def get_queryset(self) -> QuerySet[Endpoint]:
        """Return the rows of the tenant."""
        return Endpoint.objects.visible_to(self.actor)

    @extend_schema(request=CreateEndpointBody, responses={201: EndpointSerializer})
    def create(self, request: Request) -> Response:
        """Create an endpoint. Agents use it once it is selected for them."""
        authorize(self.actor, Act.ENDPOINT_CREATE, self.actor.tenant_id)
        sent = CreateEndpointBody.read(request, self.actor)
        given = sent.only("key", "title", "base_url", "api_key")
        endpoint = create_endpoint(**given, actor=self.actor)
        return self.answer(endpoint.pk, sent.ignored, 201)

    @extend_schema(request=UpdateEndpointBody, responses=EndpointSerializer)
    def partial_update(self, request: Request, pk: str) -> Response:
        """Change the title or address. The key is kept only for the same server."""
        endpoint = self.get_object()
        sent = UpdateEndpointBody.read(request, self.actor, endpoint)
        amend_endpoint(endpoint, actor=self.actor, read_at=sent.read_at, **sent.only("title", "base_url"))
        return self.answer(endpoint.pk, sent.ignored)

    @extend_schema(request=UpdateEndpointBody, responses=EndpointSerializer)
    def update(self, request: Request, pk: str) -> Response:
        """Replace the row: send every field."""
        return self.partial_update(request, pk)

    @extend_schema(responses={204: None})
    def destroy(self, request: Request, pk: str) -> Response:
        """Remove an endpoint and its key. Refused while an agent uses it."""
        remove_endpoint(self.get_object(), actor=self.actor)
        return Response(status=204)

    @extend_schema(request=RotateEndpointKeyBody, responses=EndpointSerializer)
    @action(detail=True, methods=["post"], url_path="rotate-key")
    def rotate_key(self, request: Request, pk: str) -> Response:
        """Replace the API key."""
        endpoint = self.get_object()
        sent = RotateEndpointKeyBody.read(request, self.actor)
        rotate_endpoint_key(endpoint, actor=self.actor, api_key=sent.values["api_key"], read_at=sent.read_at)
        return self.answer(endpoint.pk, sent.ignored)


class EndpointTestView(ActorView):
    """Tests whether a model answers at an endpoint."""

    acts: ClassVar = {"post": (Act.ENDPOINT_TEST,)}
    waiting: ClassVar = frozenset({"post"})

    @extend_schema(request=EndpointTestBody, responses=EndpointTestSerializer)
    def post(self, request: Request, pk: str) -> Response:
        """Make one tiny call, which costs a few tokens, and return the result.

        A failed call is a normal response with an error code.
        """
        sent = EndpointTestBody.read(request, self.actor)
        tried = try_endpoint(int(pk), actor=self.actor, model=sent.values.get("model", ""))
        return Response(EndpointTestSerializer(tried).data)


RATE_FIELDS = (
    *("input_micro_usd", "output_micro_usd"),
    *("cache_read_micro_usd", "cache_write_5m_micro_usd", "cache_write_1h_micro_usd"),
)
RATE_HELP = "Millionths of a US dollar for a million tokens: 2000000 is two dollars."


class PriceSerializer(RowSerializer[ModelPrice]):
    """Prices of a model, in millionths of a US dollar for a million tokens."""

    class Meta:
        model = ModelPrice
        fields = ("id", "model", "valid_from", *RATE_FIELDS, *STAMP_FIELDS, "ignored_fields")
        read_only_fields = fields


class SetPriceBody(RequestBody):
    """Prices of a model from a moment on."""

    acts = (Act.PRICE_SET,)
    shown = frozenset(PriceSerializer.Meta.fields)

    model = StrictTextField(help_text="A model's name, or a prefix followed by a star. The longest match applies.")
    valid_from = DateTimeField(help_text="Calls of turns that begin from then on have these prices.")
    input_micro_usd = StrictIntegerField(min_value=0, help_text=RATE_HELP)
    output_micro_usd = StrictIntegerField(min_value=0, help_text=RATE_HELP)
    cache_read_micro_usd = StrictIntegerField(min_value=0, help_text=RATE_HELP)
    cache_write_5m_micro_usd = StrictIntegerField(min_value=0, help_text=RATE_HELP)
    cache_write_1h_micro_usd = StrictIntegerField(min_value=0, help_text=RATE_HELP)
    reason = StrictTextField(required=False)


class PriceFilters(FilterSet):
    """Filter by model."""

    model = CharFilter()
    search = SearchFilter("model")


class PriceView(RowViewSet[ModelPrice]):
    """The tenant's own prices; admins set them."""

    acts: ClassVar = {"create": (Act.PRICE_SET,), "destroy": (Act.PRICE_WITHDRAW,)}
    queryset = ModelPrice.objects.none()
    serializer_class = PriceSerializer
    filterset_class = PriceFilters
    for_people = True

    def get_queryset(self) -> QuerySet[ModelPrice]:
        """Return the rows of the tenant."""
        return ModelPrice.objects.visible_to(self.actor)

    @extend_schema(request=SetPriceBody, responses={201: PriceSerializer})
    def create(self, request: Request) -> Response:
        """Set a price. Earlier charges do not change."""
        authorize(self.actor, Act.PRICE_SET, self.actor.tenant_id)
        sent = SetPriceBody.read(request, self.actor)
        model, since, reason = sent.values["model"], sent.values["valid_from"], sent.reason
        price = set_price(model, since, sent.only(*RATE_FIELDS), actor=self.actor, reason=reason)
        return self.answer(price.pk, sent.ignored, 201)

    @extend_schema(responses={204: None})
    def destroy(self, request: Request, pk: str) -> Response:
        """Withdraw a price. The earlier price applies again, or the price list of the product."""
        withdraw_price(self.get_object(), actor=self.actor)
        return Response(status=204)
