"""Webhooks: which of the tenant's servers is told what, and what is on its way there. Secrets go in and never come out."""

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
SECRET_HELP = "By Standard Webhooks: whsec_ and 24 to 64 random bytes in base64. Stored encrypted, and in no answer."  # noqa: S105  # no secret


class WebhookSerializer(RowSerializer[Webhook]):
    """An address, what it is told, and how it fares."""

    has_secret = BooleanField(read_only=True, help_text="Without a secret it is told nothing.")
    consecutive_failures = SerializerMethodField(help_text="How often it failed in a row.")
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
        """0 where it took the last delivery, or was never told anything."""
        health = getattr(webhook, "health", None)
        return health.consecutive_failures if health else 0

    @extend_schema(responses=DateTimeField(allow_null=True))
    def get_paused_until(self, webhook: Webhook) -> str | None:
        """Until when nothing is tried because it only failed."""
        health = getattr(webhook, "health", None)
        return DateTimeField().to_representation(health.paused_until) if health and health.paused_until else None


class CreateWebhookBody(RequestBody):
    """Where it is, what it is told, and what it knows us by."""

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
    """Another address, or other things to tell."""

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
    """The secret from now on."""

    about = frozenset[str]()

    secret = StrictTextField(help_text=SECRET_HELP)
    keep_former = StrictBooleanField(
        required=False, help_text="False: what is sent from now on is not signed with the present one too."
    )
    version = StrictIntegerField(required=False, help_text=VERSION_HELP)


class ReplayBody(RequestBody):
    """Which of those that were given up."""

    bare = True
    about = frozenset[str]()

    delivery_id = StrictIntegerField(required=False, help_text="Left out: all of them.")


class ReplayResultSerializer(Serializer[Any]):
    """How many are on their way again."""

    replayed_count = IntegerField()


class WebhookFilters(FilterSet):
    """By key."""

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
        """Those of the tenant."""
        return Webhook.objects.visible_to(self.actor).select_related("health")

    @extend_schema(request=CreateWebhookBody, responses={201: WebhookSerializer})
    def create(self, request: Request) -> Response:
        """Name an address; what happens from now on is told there, once it has a secret."""
        authorize(self.actor, Act.WEBHOOK_CREATE, self.actor.tenant_id)
        sent = CreateWebhookBody.read(request, self.actor)
        webhook = create_webhook(actor=self.actor, **sent.only("key", "secret", *WEBHOOK_FIELDS))
        return self.answer(webhook.pk, sent.ignored, 201)

    @extend_schema(request=UpdateWebhookBody, responses=WebhookSerializer)
    def partial_update(self, request: Request, pk: str) -> Response:
        """Change it; what waits goes to the new address."""
        webhook = self.get_object()
        sent = UpdateWebhookBody.read(request, self.actor, webhook)
        amend_webhook(webhook, actor=self.actor, read_at=sent.read_at, **sent.only(*WEBHOOK_FIELDS))
        return self.answer(webhook.pk, sent.ignored)

    @extend_schema(request=UpdateWebhookBody, responses=WebhookSerializer)
    def update(self, request: Request, pk: str) -> Response:
        """The same, whole."""
        return self.partial_update(request, pk)

    @extend_schema(request=RotateWebhookSecretBody, responses=WebhookSerializer)
    @action(detail=True, methods=["post"], url_path="rotate-secret")
    def rotate_secret(self, request: Request, pk: str) -> Response:
        """Sign with another secret, and with the present one too until the next change."""
        webhook = self.get_object()
        sent = RotateWebhookSecretBody.read(request, self.actor)
        given = sent.only("secret", "keep_former")
        rotate_webhook_secret(webhook, actor=self.actor, read_at=sent.read_at, **given)
        return self.answer(webhook.pk, sent.ignored)

    @extend_schema(request=ReplayBody, responses=ReplayResultSerializer)
    @action(detail=True, methods=["post"])
    def replay(self, request: Request, pk: str) -> Response:
        """Send again what was given up, each under the number it has. People only."""
        sent = ReplayBody.read(request, self.actor)
        again = replay_deliveries(int(pk), actor=self.actor, **sent.only("delivery_id"))
        return Response({"replayed_count": again})


class DeliverySerializer(RowSerializer[Delivery]):
    """Something that a webhook is told, and how far it is."""

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
    """By webhook, conversation and state."""

    webhook_id = IdFilter()
    conversation_id = IdFilter()
    status = ChoiceFilter(choices=Delivery.Status.choices)


class DeliveryView(RowViewSet[Delivery]):
    """What was told, what waits and what was given up; read only."""

    queryset = Delivery.objects.none()
    serializer_class = DeliverySerializer
    filterset_class = DeliveryFilters
    for_people = True

    def get_queryset(self) -> QuerySet[Delivery]:
        """Those of the tenant."""
        return Delivery.objects.filter(tenant_id=self.actor.tenant_id)
