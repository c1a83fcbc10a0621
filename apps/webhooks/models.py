"""The webhook, its deliveries, and its health."""

from typing import ClassVar, Self

from django.db import models
from django.db.models.functions import Now

from apps.governance.models import Governed
from apps.governance.models.base import GovernedQuerySet
from apps.governance.stored_text import validate_storable_text
from apps.tenants.models.endpoints import KEY, SealedSecret, key_rule, validate_reachable_url
from apps.webhooks.rules import NON_CONVERSATION_EVENTS, WebhookEvent

NON_CONVERSATION_EVENT_NAMES = sorted(event.value for event in NON_CONVERSATION_EVENTS)
EVENT_FIELDS = tuple(f"on_{event.value}" for event in WebhookEvent)


class Webhook(Governed):
    """An address of the tenant that receives signed events."""

    key = models.CharField(max_length=40, validators=[key_rule])
    title = models.CharField(max_length=120, validators=[validate_storable_text])
    url = models.CharField(
        "address",
        max_length=300,
        validators=[validate_storable_text, validate_reachable_url],
        help_text="Such as https://example.com/preceptor. Redirects are not followed.",
    )
    is_active = models.BooleanField(
        "active", default=True, help_text="Off: no new events are queued, and waiting deliveries stay."
    )
    on_reply = models.BooleanField("replies", default=True, help_text="A message to a customer.")
    on_draft = models.BooleanField("drafts", default=False, help_text="A reply that waits for a person.")
    on_escalation = models.BooleanField(
        "escalations", default=False, help_text="A question that an agent asks a person."
    )
    on_resolved = models.BooleanField("ends", default=False, help_text="A conversation was resolved.")
    on_learning_version = models.BooleanField(
        "learning versions",
        default=False,
        help_text="A learning version that waits for a person, or went live by itself.",
    )
    on_distillation = models.BooleanField(
        "distilled memory", default=False, help_text="A distillation of an agent's mid or long tier, with any outcome."
    )
    on_review = models.BooleanField(
        "reviews", default=False, help_text="A proposal that waits for a person's decision."
    )
    # The database checks that both references stay within the tenant, and deletes a secret that nothing refers to any more.
    secret = models.ForeignKey(SealedSecret, null=True, editable=False, on_delete=models.DO_NOTHING, related_name="+")
    former_secret = models.ForeignKey(
        SealedSecret, null=True, editable=False, on_delete=models.DO_NOTHING, related_name="+"
    )

    noun = "webhook"
    objects = GovernedQuerySet["Webhook"].as_manager()

    class Meta(Governed.Meta):
        ordering: ClassVar = ["key"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["tenant", "key"],
                name="webhook_key_is_unique_in_tenant",
                violation_error_message="There is a webhook with this key in the tenant already. Choose another key.",
            ),
            models.CheckConstraint(condition=models.Q(key__regex=KEY), name="webhook_key_is_lower_case"),
        ]

    def __str__(self) -> str:
        return self.key

    @property
    def has_secret(self) -> bool:
        """Return whether the webhook can receive deliveries: unsigned requests are never sent."""
        return self.secret_id is not None


class DeliveryQuerySet(models.QuerySet["Delivery"]):
    """Queryset filters for deliveries."""

    def waiting(self) -> Self:
        """Deliveries that wait to be sent."""
        return self.filter(status=Delivery.Status.WAITING)

    def dead(self) -> Self:
        """Deliveries that were given up."""
        return self.filter(status=Delivery.Status.DEAD)


class Delivery(models.Model):
    """One event for one webhook. Its payload is built from the subject row when it is sent, and is not stored."""

    class Status(models.TextChoices):
        """The status: waiting, accepted by the receiver, or given up until a person sends the delivery again."""

        WAITING = "waiting", "Waiting"
        DELIVERED = "delivered", "Delivered"
        DEAD = "dead", "Dead"

    tenant = models.ForeignKey("tenants.Tenant", db_index=False, on_delete=models.PROTECT, related_name="+")
    webhook = models.ForeignKey(Webhook, db_index=False, on_delete=models.PROTECT, related_name="deliveries")
    conversation = models.ForeignKey(
        "conversations.Conversation",
        null=True,
        db_index=False,
        on_delete=models.PROTECT,
        related_name="+",
        help_text="Null for an event outside a conversation.",
    )
    event = models.CharField(max_length=20, choices=[(event.value, event.value) for event in WebhookEvent])
    subject_id = models.BigIntegerField(
        help_text="The id of the message, draft, escalation, conversation, version, run or proposal."
    )
    created_at = models.DateTimeField(db_default=Now())
    status = models.CharField(max_length=10, choices=Status.choices, db_default=Status.WAITING)
    attempts = models.PositiveSmallIntegerField(db_default=0)
    next_attempt_at = models.DateTimeField(db_default=Now())
    lease_until = models.DateTimeField(db_default=Now())
    fence = models.PositiveIntegerField(db_default=0)
    http_status = models.PositiveSmallIntegerField(null=True, help_text="The status of the last response.")
    failure_code = models.CharField(
        max_length=40, db_default="", help_text="The error of the last attempt, if it failed."
    )
    delivered_at = models.DateTimeField(null=True)
    replayed_by = models.CharField(max_length=200, db_default="")

    objects = DeliveryQuerySet.as_manager()

    class Meta:
        ordering: ClassVar = ["-id"]
        verbose_name_plural = "deliveries"
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=models.Q(status="delivered", delivered_at__isnull=False)
                | (~models.Q(status="delivered") & models.Q(delivered_at__isnull=True)),
                name="delivered_delivery_has_a_delivery_time",
            ),
            models.CheckConstraint(
                condition=models.Q(event__in=NON_CONVERSATION_EVENT_NAMES, conversation__isnull=True)
                | (~models.Q(event__in=NON_CONVERSATION_EVENT_NAMES) & models.Q(conversation__isnull=False)),
                name="delivery_names_its_conversation",
            ),
            # Two sweeps that look for waiting reviews may run at once and must not queue the same delivery twice.
            models.UniqueConstraint(
                fields=["tenant", "webhook", "subject_id"],
                condition=models.Q(event="review"),
                name="review_has_one_delivery_per_webhook",
            ),
        ]
        indexes: ClassVar = [
            models.Index(
                fields=["tenant", "webhook", "conversation", "id"],
                condition=models.Q(status="waiting"),
                name="delivery_waiting",
            ),
            models.Index(fields=["tenant", "webhook", "id"], name="delivery_of_webhook"),
            models.Index(fields=["tenant", "id"], condition=models.Q(status="dead"), name="delivery_dead"),
            models.Index(
                fields=["tenant", "webhook", "delivered_at"],
                condition=models.Q(status="delivered"),
                name="delivery_delivered",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.event} {self.subject_id}"


class WebhookHealth(models.Model):
    """The health of a webhook, updated by each delivery attempt."""

    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.PROTECT, related_name="+")
    webhook = models.OneToOneField(Webhook, on_delete=models.PROTECT, related_name="health")
    consecutive_failures = models.PositiveIntegerField(db_default=0, help_text="Failures in a row; 0 after a success.")
    failing_since = models.DateTimeField(null=True)
    paused_until = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"{self.consecutive_failures} failures"
