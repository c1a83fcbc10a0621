"""A person's notification preferences, and the e-mails sent to them."""

from typing import ClassVar, Final
from zoneinfo import ZoneInfo

from django.db import models
from django.db.models.functions import Now

from apps.notifications.rules import DeliveryTiming, NotificationKind, ZonedPreferences

HOURS: Final = [(hour, f"{hour:02}:00") for hour in range(24)]
TIMING_CHOICES: Final = [
    (DeliveryTiming.NEVER.value, "Never"),
    (DeliveryTiming.AT_ONCE.value, "At once"),
    (DeliveryTiming.DIGEST.value, "In the digest"),
]
DEFAULT_DIGEST_HOUR: Final = 8


def timing_field() -> "models.CharField[str, str]":
    """Return a field for how soon one kind is notified."""
    return models.CharField(max_length=7, choices=TIMING_CHOICES, default=DeliveryTiming.NEVER.value)


class NotificationPreferences(models.Model):
    """The notification preferences of one person in a tenant, and the state of delivery. Without a row, nothing is sent."""

    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.PROTECT, related_name="+")
    user = models.ForeignKey("tenants.User", on_delete=models.PROTECT, related_name="+")
    escalations = timing_field()
    tool_approvals = timing_field()
    drafts = timing_field()
    reviews = timing_field()
    stuck_turns = timing_field()
    deliveries = timing_field()
    digest_hour = models.PositiveSmallIntegerField(choices=HOURS, default=DEFAULT_DIGEST_HOUR)
    quiet_start_hour = models.PositiveSmallIntegerField(choices=HOURS, null=True)
    quiet_end_hour = models.PositiveSmallIntegerField(choices=HOURS, null=True)
    timezone = models.CharField(max_length=60, default="", help_text="Empty: the tenant's.")
    # Columns from here on are written by workers only.
    notified_ids = models.JSONField(
        default=dict, help_text="Pending items that an e-mail already listed: row ids by kind."
    )
    last_digest_at = models.DateTimeField(db_default=Now())
    next_check_at = models.DateTimeField(db_default=Now())
    lease_until = models.DateTimeField(db_default=Now())
    fence = models.PositiveIntegerField(db_default=0)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["tenant", "user"], name="person_has_notification_preferences_once"),
            models.CheckConstraint(
                condition=models.Q(quiet_start_hour=None, quiet_end_hour=None)
                | models.Q(quiet_start_hour__lt=24, quiet_end_hour__lt=24)
                & ~models.Q(quiet_start_hour=models.F("quiet_end_hour")),
                name="quiet_hours_begin_and_end",
            ),
            models.CheckConstraint(condition=models.Q(digest_hour__lt=24), name="digest_hour_is_of_a_day"),
        ]

    def __str__(self) -> str:
        return f"Notices to #{self.user_id}"

    def in_zone(self, of_tenant: str) -> ZonedPreferences:
        """Return the preferences as the rules read them; `of_tenant` is the tenant's time zone."""
        quiet = (
            None
            if self.quiet_start_hour is None or self.quiet_end_hour is None
            else (self.quiet_start_hour, self.quiet_end_hour)
        )
        chosen = {kind: DeliveryTiming(getattr(self, kind.value)) for kind in NotificationKind}
        return ZonedPreferences(chosen, self.digest_hour, quiet, ZoneInfo(self.timezone or of_tenant))


class EmailNotification(models.Model):
    """One e-mail to a person. Its text is rendered from the items pending when it is sent, and is not stored."""

    class Status(models.TextChoices):
        """The status: waiting to be sent, sent, given up, or skipped because all items were settled first."""

        WAITING = "waiting", "Waiting"
        SENT = "sent", "Sent"
        DEAD = "dead", "Given up"
        SKIPPED = "skipped", "Not sent: everything was settled before"

    tenant = models.ForeignKey("tenants.Tenant", db_index=False, on_delete=models.PROTECT, related_name="+")
    preferences = models.ForeignKey(
        NotificationPreferences, db_index=False, on_delete=models.PROTECT, related_name="notices"
    )
    is_digest = models.BooleanField()
    status = models.CharField(max_length=10, choices=Status.choices, db_default=Status.WAITING)
    created_at = models.DateTimeField(db_default=Now())
    attempts = models.PositiveSmallIntegerField(db_default=0)
    failure = models.CharField(max_length=40, db_default="", help_text="The error of the last attempt, if it failed.")
    sent_at = models.DateTimeField(null=True)

    class Meta:
        ordering: ClassVar = ["-id"]
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=models.Q(status="sent", sent_at__isnull=False)
                | (~models.Q(status="sent") & models.Q(sent_at__isnull=True)),
                name="sent_notification_has_a_send_time",
            ),
            models.UniqueConstraint(
                fields=["tenant", "preferences"],
                condition=models.Q(status="waiting"),
                name="one_waiting_notification_per_person",
            ),
        ]
        indexes: ClassVar = [models.Index(fields=["tenant", "preferences", "id"], name="notification_of_preferences")]

    def __str__(self) -> str:
        return f"EmailNotification {self.pk}"
