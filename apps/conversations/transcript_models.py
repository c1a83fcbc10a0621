"""The transcript of a conversation, and what arrives in it: journal rows, written by who acts and never changed."""

from typing import ClassVar

from django.db import models
from django.db.models.functions import Now

from apps.conversations.rules import EVENT_CHARACTERS, LINE_CHARACTERS, SENDER_NAME_CHARACTERS
from apps.tenants.rules import MOST_STEPS


class InboundEvent(models.Model):
    """Something that arrived and waits for a turn. Append-only but for the turn that consumed it."""

    class Kind(models.TextChoices):
        """Who speaks, which decides how it is framed (R140, R141)."""

        MESSAGE = "message"
        OPERATOR = "operator"
        SCHEDULE = "schedule"
        # Between agents: what one is asked, what it answers, and what becomes of the question meanwhile.
        TASK = "task"
        ANSWER = "answer"
        PROGRESS = "progress"

    tenant = models.ForeignKey("tenants.Tenant", db_index=False, on_delete=models.PROTECT, related_name="+")
    conversation = models.ForeignKey(
        "conversations.Conversation", db_index=False, on_delete=models.PROTECT, related_name="events"
    )
    kind = models.CharField(max_length=10, choices=Kind.choices, default=Kind.MESSAGE)
    idempotency_key = models.CharField(max_length=200)
    sender_name = models.CharField(max_length=SENDER_NAME_CHARACTERS, blank=True)
    line_key = models.CharField(
        max_length=LINE_CHARACTERS, blank=True, help_text="Which line of the channel it came in on."
    )
    sent_by = models.CharField(
        max_length=200,
        blank=True,
        editable=False,
        help_text="Which person or agent sent it; blank for a customer's message.",
    )
    text = models.TextField()
    text_sha256 = models.CharField(max_length=64)
    received_at = models.DateTimeField(auto_now_add=True)
    due_at = models.DateTimeField(
        db_default=Now(), editable=False, help_text="When a turn may take it: a burst of messages is answered at once."
    )
    max_steps = models.PositiveSmallIntegerField(
        null=True,
        help_text="How often the turn that answers it may ask the model; empty: as the agent and the channel say.",
    )
    turn_id = models.BigIntegerField(null=True, db_index=True)

    class Meta:
        ordering: ClassVar = ["id"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["tenant", "conversation", "idempotency_key"], name="event_arrives_once_per_key"
            ),
            models.CheckConstraint(
                condition=models.Q(max_steps__isnull=True) | models.Q(max_steps__range=(1, MOST_STEPS)),
                name="event_max_steps_is_in_range",
            ),
            models.CheckConstraint(
                condition=~models.Q(kind="message") | models.Q(sent_by=""),
                name="customer_message_has_no_sent_by",
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["id"], condition=models.Q(turn_id__isnull=True), name="event_waiting"),
            models.Index(
                fields=["tenant", "conversation", "received_at"],
                condition=models.Q(kind="message"),
                name="customer_message_by_time",
            ),
        ]

    def __str__(self) -> str:
        return f"Event {self.pk} ({self.kind}, {len(self.text)} of {EVENT_CHARACTERS} characters)"

    @property
    def debounce_seconds(self) -> int:
        """How long the rest of a burst is waited for; colleagues are answered at once."""
        return self.conversation.agent.debounce_seconds if self.kind == self.Kind.MESSAGE else 0


class Message(models.Model):
    """One step of the transcript, with the exact API message it was or became; what tools gave back is told once, with their calls.

    Append-only.
    """

    class Sender(models.TextChoices):
        """Whose words these are."""

        CUSTOMER = "customer"
        OPERATOR = "operator"
        AGENT = "agent"
        PEER = "peer", "Another agent"
        TOOL = "tool"

    tenant = models.ForeignKey("tenants.Tenant", db_index=False, on_delete=models.PROTECT, related_name="+")
    conversation = models.ForeignKey(
        "conversations.Conversation", db_index=False, on_delete=models.PROTECT, related_name="messages"
    )
    position = models.PositiveIntegerField()
    sender = models.CharField(max_length=10, choices=Sender.choices)
    text = models.TextField(blank=True)
    tool_calls = models.JSONField(default=list)
    api_message = models.JSONField(null=True)
    turn_id = models.BigIntegerField(null=True, db_index=True)
    is_reply = models.BooleanField(
        default=False, editable=False, help_text="Whether this is what the turn said to the customer."
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering: ClassVar = ["conversation_id", "position"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["tenant", "conversation", "position"], name="message_has_its_own_position"),
            models.UniqueConstraint(
                fields=["tenant", "turn_id"], condition=models.Q(is_reply=True), name="turn_replies_once"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.sender} {self.position}"
