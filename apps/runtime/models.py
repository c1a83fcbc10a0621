"""Frozen sessions, the turns taken in them, and what each model call used. Journal tables: one writer, no change record."""

from typing import ClassVar

from django.db import models


class SnapshotPart(models.Model):
    """One slot with the owners of its bytes, stored once per tenant and content: the same words by another are another part."""

    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.PROTECT, related_name="+")
    slot = models.PositiveSmallIntegerField()
    sha256 = models.CharField(max_length=64)
    text = models.TextField()
    segments = models.JSONField(null=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["tenant", "slot", "sha256"], name="part_is_stored_once_per_tenant"),
        ]

    def __str__(self) -> str:
        return f"Slot {self.slot} {self.sha256[:12]}"


class Session(models.Model):
    """The frozen prompt prefix of one stretch of a conversation; immutable (R041, R043, R062)."""

    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.PROTECT, related_name="+")
    conversation = models.ForeignKey("conversations.Conversation", on_delete=models.PROTECT, related_name="sessions")
    agent = models.ForeignKey("tenants.Agent", on_delete=models.PROTECT, related_name="+")
    prefix_sha256 = models.CharField(max_length=64)
    tool_names = models.JSONField()
    tools = models.ForeignKey(SnapshotPart, null=True, on_delete=models.PROTECT, related_name="+")
    tools_sha256 = models.CharField(max_length=64, blank=True)
    snapshot_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering: ClassVar = ["-id"]

    def __str__(self) -> str:
        return f"Session {self.pk} {self.prefix_sha256[:12]}"


class SessionPart(models.Model):
    """Which part stands at which place of a session's prefix."""

    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.PROTECT, related_name="+")
    session = models.ForeignKey(Session, on_delete=models.PROTECT, related_name="parts")
    position = models.PositiveSmallIntegerField()
    part = models.ForeignKey(SnapshotPart, on_delete=models.PROTECT, related_name="+")

    class Meta:
        ordering: ClassVar = ["position"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["tenant", "session", "position"], name="session_part_has_its_own_position"),
        ]

    def __str__(self) -> str:
        return f"Part {self.position} of session {self.session_id}"


class Turn(models.Model):
    """One answer in the making: claimed under a lease and a fencing number, at most one running per conversation."""

    class Status(models.TextChoices):
        """A failed turn keeps its events and says why."""

        RUNNING = "running"
        DONE = "done"
        FAILED = "failed"

    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.PROTECT, related_name="+")
    conversation = models.ForeignKey("conversations.Conversation", on_delete=models.PROTECT, related_name="turns")
    session = models.ForeignKey(Session, null=True, on_delete=models.PROTECT, related_name="turns")
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.RUNNING)
    fence = models.PositiveIntegerField(default=1)
    attempts = models.PositiveSmallIntegerField(default=1)
    lease_until = models.DateTimeField()
    started_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True)
    reply = models.ForeignKey("conversations.Message", null=True, on_delete=models.PROTECT, related_name="+")
    failure_code = models.CharField(max_length=40, blank=True)
    failure = models.TextField(blank=True)
    asked_segments = models.JSONField(null=True)

    class Meta:
        ordering: ClassVar = ["-id"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["tenant", "conversation"],
                condition=models.Q(status="running"),
                name="one_running_turn_per_conversation",
            ),
            models.CheckConstraint(
                condition=~models.Q(status="done") | models.Q(reply__isnull=False), name="finished_turn_has_a_reply"
            ),
        ]

    def __str__(self) -> str:
        return f"Turn {self.pk} ({self.status})"


class ModelCall(models.Model):
    """What one call to the model used, in tokens by billing class, beside what the cache rules let expect (R166, R185).

    `entries` are the cached prefixes the call left behind, hash to lifetime in seconds; `ledger` says it slot by slot.
    """

    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.PROTECT, related_name="+")
    turn = models.ForeignKey(Turn, on_delete=models.PROTECT, related_name="calls")
    fence = models.PositiveIntegerField()
    step = models.PositiveSmallIntegerField()
    model = models.CharField(max_length=80)
    stand_in = models.BooleanField()
    stop_reason = models.CharField(max_length=40)
    prefix_sha256 = models.CharField(max_length=64)
    input_tokens = models.PositiveIntegerField()
    output_tokens = models.PositiveIntegerField()
    cache_read_tokens = models.PositiveIntegerField()
    cache_write_5m_tokens = models.PositiveIntegerField()
    cache_write_1h_tokens = models.PositiveIntegerField()
    cost_micro_usd = models.PositiveBigIntegerField(null=True)
    requested_at = models.DateTimeField(null=True)
    shared_sha256 = models.CharField(max_length=64, blank=True)
    workspace_sha256 = models.CharField(max_length=64, blank=True)
    expected_read_tokens = models.PositiveIntegerField(null=True)
    has_unexpected_miss = models.BooleanField(default=False)
    entries = models.JSONField(default=dict)
    ledger = models.JSONField(default=dict)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering: ClassVar = ["turn_id", "fence", "step"]
        indexes: ClassVar = [
            models.Index(fields=["tenant", "shared_sha256", "-requested_at"], name="call_by_shared_prefix"),
            models.Index(fields=["tenant", "workspace_sha256", "-requested_at"], name="call_by_workspace_prefix"),
        ]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["tenant", "turn", "fence", "step"], name="call_has_its_own_step"),
        ]

    def __str__(self) -> str:
        return f"Call {self.step} of turn {self.turn_id}"
