"""Webhooks: which of the tenant's servers is told what, and what is on its way there. Secrets go in and never come out."""

from typing import Any, ClassVar

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.serializers import BooleanField, DateTimeField, IntegerField, Serializer, SerializerMethodField

from apps.api.framework.base_views import Rows
from apps.api.protocol.filters import BooleanFilter, CharFilter, ChoiceFilter, FilterSet, IdFilter, SearchFilter
from apps.api.protocol.request_bodies import Body, Number, Text, YesNo
from apps.api.protocol.serializers import STAMPS, Shown
from apps.governance.governed_write import authorize
from apps.governance.policy.table import Act
from apps.webhooks.actions import amend_webhook, create_webhook, rotate_webhook_secret
from apps.webhooks.delivery_replay import replay_deliveries
from apps.webhooks.models import EVENTS, Delivery, Webhook

READ = "The webhook's version that was read."
TOLD = ("title", "url", "is_active", *EVENTS)
SECRET = "By Standard Webhooks: whsec_ and 24 to 64 random bytes in base64. Stored encrypted, and in no answer."  # noqa: S105  # no secret


class WebhookRow(Shown[Webhook]):
    """An address, what it is told, and how it fares."""

    has_secret = BooleanField(read_only=True, help_text="Without a secret it is told nothing.")
    consecutive_failures = SerializerMethodField(help_text="How often it failed in a row.")
    paused_until = SerializerMethodField()

    class Meta:
        model = Webhook
        fields = ("id", "key", *TOLD, "has_secret", "consecutive_failures", "paused_until", *STAMPS, "ignored_fields")
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


class NewWebhook(Body):
    """Where it is, what it is told, and what it knows us by."""

    acts = (Act.WEBHOOK_CREATE,)
    shown = frozenset(WebhookRow.Meta.fields)

    key = Text()
    title = Text()
    url = Text(help_text="Such as https://example.com/preceptor.")
    is_active = YesNo(required=False)
    on_reply = YesNo(required=False)
    on_draft = YesNo(required=False)
    on_escalation = YesNo(required=False)
    on_resolved = YesNo(required=False)
    on_learning_version = YesNo(required=False)
    on_distillation = YesNo(required=False)
    on_review = YesNo(required=False)
    secret = Text(required=False, help_text=SECRET)


class WebhookChange(Body):
    """Another address, or other things to tell."""

    acts = (Act.WEBHOOK_AMEND,)
    shown = frozenset(WebhookRow.Meta.fields)
    whole = TOLD

    title = Text(required=False)
    url = Text(required=False)
    is_active = YesNo(required=False)
    on_reply = YesNo(required=False)
    on_draft = YesNo(required=False)
    on_escalation = YesNo(required=False)
    on_resolved = YesNo(required=False)
    on_learning_version = YesNo(required=False)
    on_distillation = YesNo(required=False)
    on_review = YesNo(required=False)
    version = Number(required=False, help_text=READ)


class NewSecret(Body):
    """The secret from now on."""

    about = frozenset[str]()

    secret = Text(help_text=SECRET)
    keep_former = YesNo(
        required=False, help_text="False: what is sent from now on is not signed with the present one too."
    )
    version = Number(required=False, help_text=READ)


class Again(Body):
    """Which of those that were given up."""

    bare = True
    about = frozenset[str]()

    delivery_id = Number(required=False, help_text="Left out: all of them.")


class SentAgain(Serializer[Any]):
    """How many are on their way again."""

    replayed_count = IntegerField()


class WebhookFilters(FilterSet):
    """By key."""

    key = CharFilter()
    is_active = BooleanFilter()
    search = SearchFilter("key", "title", "url")


class WebhookView(Rows[Webhook]):
    """Webhooks of the tenant; admins change them."""

    acts: ClassVar = {
        "create": (Act.WEBHOOK_CREATE,),
        "partial_update": (Act.WEBHOOK_AMEND,),
        "rotate-secret": (Act.WEBHOOK_ROTATE_SECRET,),
        "replay": (Act.WEBHOOK_REPLAY,),
    }
    queryset = Webhook.objects.none()
    serializer_class = WebhookRow
    filterset_class = WebhookFilters
    for_people = True

    def get_queryset(self) -> QuerySet[Webhook]:
        """Those of the tenant."""
        return Webhook.objects.visible_to(self.actor).select_related("health")

    @extend_schema(request=NewWebhook, responses={201: WebhookRow})
    def create(self, request: Request) -> Response:
        """Name an address; what happens from now on is told there, once it has a secret."""
        authorize(self.actor, Act.WEBHOOK_CREATE, self.actor.tenant_id)
        sent = NewWebhook.read(request, self.actor)
        webhook = create_webhook(actor=self.actor, **sent.only("key", "secret", *TOLD))
        return self.answer(webhook.pk, sent.ignored, 201)

    @extend_schema(request=WebhookChange, responses=WebhookRow)
    def partial_update(self, request: Request, pk: str) -> Response:
        """Change it; what waits goes to the new address."""
        del pk
        webhook = self.get_object()
        sent = WebhookChange.read(request, self.actor, webhook)
        amend_webhook(webhook, actor=self.actor, read_at=sent.read_at, **sent.only(*TOLD))
        return self.answer(webhook.pk, sent.ignored)

    @extend_schema(request=WebhookChange, responses=WebhookRow)
    def update(self, request: Request, pk: str) -> Response:
        """The same, whole."""
        return self.partial_update(request, pk)

    @extend_schema(request=NewSecret, responses=WebhookRow)
    @action(detail=True, methods=["post"], url_path="rotate-secret")
    def rotate_secret(self, request: Request, pk: str) -> Response:
        """Sign with another secret, and with the present one too until the next change."""
        del pk
        webhook = self.get_object()
        sent = NewSecret.read(request, self.actor)
        given = sent.only("secret", "keep_former")
        rotate_webhook_secret(webhook, actor=self.actor, read_at=sent.read_at, **given)
        return self.answer(webhook.pk, sent.ignored)

    @extend_schema(request=Again, responses=SentAgain)
    @action(detail=True, methods=["post"])
    def replay(self, request: Request, pk: str) -> Response:
        """Send again what was given up, each under the number it has. People only."""
        sent = Again.read(request, self.actor)
        again = replay_deliveries(int(pk), actor=self.actor, **sent.only("delivery_id"))
        return Response({"replayed_count": again})


class DeliveryRow(Shown[Delivery]):
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


class DeliveryView(Rows[Delivery]):
    """What was told, what waits and what was given up; read only."""

    queryset = Delivery.objects.none()
    serializer_class = DeliveryRow
    filterset_class = DeliveryFilters
    for_people = True

    def get_queryset(self) -> QuerySet[Delivery]:
        """Those of the tenant."""
        return Delivery.objects.filter(tenant_id=self.actor.tenant_id)
