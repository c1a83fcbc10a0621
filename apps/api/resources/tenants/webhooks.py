"""Webhooks of the tenant, and their deliveries. Secrets can be written and are never returned."""

from typing import Any, ClassVar

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BooleanField, DateTimeField, IntegerField, Serializer, SerializerMethodField

from apps.api.framework.base_views import RowViewSet
from apps.api.protocol.filters import BooleanFilter, CharFilter, ChoiceFilter, FilterSet, IdFilter, SearchFilter
from apps.api.protocol.request_bodies import RequestBody, StrictBooleanField, StrictIntegerField, StrictTextField
from apps.api.protocol.serializers import STAMP_FIELDS, RowSerializer
from apps.governance.governed_write import authorize
from apps.governance.policy.policy_table import Act
from apps.webhooks.actions import amend_webhook, create_webhook, rotate_webhook_secret
from apps.webhooks.delivery_replay import replay_deliveries
from apps.webhooks.models import EVENT_FIELDS, Delivery, Webhook

VERSION_HELP = "The webhook's version that was read."
WEBHOOK_FIELDS = ("title", "url", "is_active", *EVENT_FIELDS)
SECRET_HELP = (
    "In the form of Standard Webhooks: whsec_ and 24 to 64 random bytes in base64. Stored encrypted; never returned."  # noqa: S105  # no secret
)


class WebhookSerializer(RowSerializer[Webhook]):
    """A webhook, its events, and its health."""

    has_secret = BooleanField(read_only=True, help_text="Without a secret nothing is sent.")
    consecutive_failures = SerializerMethodField(help_text="Number of failures in a row.")
    paused_until = SerializerMethodField()

    class Meta:
        model = Webhook
        fields = (
            "id",
            "key",
            *WEBHOOK_FIELDS,
            "has_secret",
            "consecutive_failures",
            "paused_until",
            *STAMP_FIELDS,
            "ignored_fields",
        )
        read_only_fields = fields

    @extend_schema(responses=IntegerField())
    def get_consecutive_failures(self, webhook: Webhook) -> int:
        """Return 0 if the last delivery succeeded, or there was none."""
        health = getattr(webhook, "health", None)
        return health.consecutive_failures if health else 0

    @extend_schema(responses=DateTimeField(allow_null=True))
    def get_paused_until(self, webhook: Webhook) -> str | None:
        """Return the time until which deliveries are paused after repeated failures."""
        health = getattr(webhook, "health", None)
        return DateTimeField().to_representation(health.paused_until) if health and health.paused_until else None


class CreateWebhookBody(RequestBody):
    """Address, events and secret of a webhook."""

    acts = (Act.WEBHOOK_CREATE,)
    shown = frozenset(WebhookSerializer.Meta.fields)

    key = StrictTextField()
    title = StrictTextField()
    url = StrictTextField(help_text="Such as https://example.com/preceptor.")
    is_active = StrictBooleanField(required=False)
    on_reply = StrictBooleanField(required=False)
    on_draft = StrictBooleanField(required=False)
    on_escalation = StrictBooleanField(required=False)
    on_resolved = StrictBooleanField(required=False)
    on_learning_version = StrictBooleanField(required=False)
    on_distillation = StrictBooleanField(required=False)
    on_review = StrictBooleanField(required=False)
    secret = StrictTextField(required=False, help_text=SECRET_HELP)


class UpdateWebhookBody(RequestBody):
    """Another address, or other events."""

    acts = (Act.WEBHOOK_AMEND,)
    shown = frozenset(WebhookSerializer.Meta.fields)
    whole = WEBHOOK_FIELDS

    title = StrictTextField(required=False)
    url = StrictTextField(required=False)
    is_active = StrictBooleanField(required=False)
    on_reply = StrictBooleanField(required=False)
    on_draft = StrictBooleanField(required=False)
    on_escalation = StrictBooleanField(required=False)
    on_resolved = StrictBooleanField(required=False)
    on_learning_version = StrictBooleanField(required=False)
    on_distillation = StrictBooleanField(required=False)
    on_review = StrictBooleanField(required=False)
    version = StrictIntegerField(required=False, help_text=VERSION_HELP)


class RotateWebhookSecretBody(RequestBody):
    """The new secret."""

    about = frozenset[str]()

    secret = StrictTextField(help_text=SECRET_HELP)
    keep_former = StrictBooleanField(
        required=False, help_text="False: later deliveries are no longer also signed with the present secret."
    )
    version = StrictIntegerField(required=False, help_text=VERSION_HELP)


class ReplayBody(RequestBody):
    """The failed delivery to send again."""

    bare = True
    about = frozenset[str]()

    delivery_id = StrictIntegerField(required=False, help_text="Left out: all failed deliveries.")


class ReplayResultSerializer(Serializer[Any]):
    """The number of deliveries that will be sent again."""

    replayed_count = IntegerField()


class WebhookFilters(FilterSet):
    """Filter by key."""

    key = CharFilter()
    is_active = BooleanFilter()
    search = SearchFilter("key", "title", "url")


class WebhookView(RowViewSet[Webhook]):
    """Webhooks of the tenant; admins change them."""

    acts: ClassVar = {
        "create": (Act.WEBHOOK_CREATE,),
        "partial_update": (Act.WEBHOOK_AMEND,),
        "rotate-secret": (Act.WEBHOOK_ROTATE_SECRET,),
        "replay": (Act.WEBHOOK_REPLAY,),
    }
    queryset = Webhook.objects.none()
    serializer_class = WebhookSerializer
    filterset_class = WebhookFilters
    for_people = True

    def get_queryset(self) -> QuerySet[Webhook]:
        """Return the rows of the tenant."""
        return Webhook.objects.visible_to(self.actor).select_related("health")

    @extend_schema(request=CreateWebhookBody, responses={201: WebhookSerializer})
    def create(self, request: Request) -> Response:
        """Create a webhook. Events from now on are sent to it, once it has a secret."""
        authorize(self.actor, Act.WEBHOOK_CREATE, self.actor.tenant_id)
        sent = CreateWebhookBody.read(request, self.actor)
        webhook = create_webhook(actor=self.actor, **sent.only("key", "secret", *WEBHOOK_FIELDS))
        return self.answer(webhook.pk, sent.ignored, 201)

    @extend_schema(request=UpdateWebhookBody, responses=WebhookSerializer)
    def partial_update(self, request: Request, pk: str) -> Response:
        """Change a webhook. Waiting deliveries go to the new address."""
        webhook = self.get_object()
        sent = UpdateWebhookBody.read(request, self.actor, webhook)
        amend_webhook(webhook, actor=self.actor, read_at=sent.read_at, **sent.only(*WEBHOOK_FIELDS))
        return self.answer(webhook.pk, sent.ignored)

    @extend_schema(request=UpdateWebhookBody, responses=WebhookSerializer)
    def update(self, request: Request, pk: str) -> Response:
        """Replace the row: send every field."""
        return self.partial_update(request, pk)

    @extend_schema(request=RotateWebhookSecretBody, responses=WebhookSerializer)
    @action(detail=True, methods=["post"], url_path="rotate-secret")
    def rotate_secret(self, request: Request, pk: str) -> Response:
        """Replace the secret. Deliveries are also signed with the former one until the next change."""
        webhook = self.get_object()
        sent = RotateWebhookSecretBody.read(request, self.actor)
        given = sent.only("secret", "keep_former")
        rotate_webhook_secret(webhook, actor=self.actor, read_at=sent.read_at, **given)
        return self.answer(webhook.pk, sent.ignored)

    @extend_schema(request=ReplayBody, responses=ReplayResultSerializer)
    @action(detail=True, methods=["post"])
    def replay(self, request: Request, pk: str) -> Response:
        """Send failed deliveries again, each under its own id. People only."""
        sent = ReplayBody.read(request, self.actor)
        again = replay_deliveries(int(pk), actor=self.actor, **sent.only("delivery_id"))
        return Response({"replayed_count": again})


class DeliverySerializer(RowSerializer[Delivery]):
    """A delivery to a webhook, and its state."""

    webhook_id = IntegerField(read_only=True)
    conversation_id = IntegerField(read_only=True, allow_null=True)

    class Meta:
        model = Delivery
        fields = (
            *("id", "webhook_id", "conversation_id", "event", "subject_id", "created_at", "status", "attempts"),
            *("next_attempt_at", "http_status", "failure_code", "delivered_at", "replayed_by"),
        )
        read_only_fields = fields


class DeliveryFilters(FilterSet):
    """Filter by webhook, conversation and state."""

    webhook_id = IdFilter()
    conversation_id = IdFilter()
    status = ChoiceFilter(choices=Delivery.Status.choices)


class DeliveryView(RowViewSet[Delivery]):
    """Deliveries that were sent, that wait, and that failed. Read only."""

    queryset = Delivery.objects.none()
    serializer_class = DeliverySerializer
    filterset_class = DeliveryFilters
    for_people = True

    def get_queryset(self) -> QuerySet[Delivery]:
        """Return the rows of the tenant."""
        return Delivery.objects.filter(tenant_id=self.actor.tenant_id)
