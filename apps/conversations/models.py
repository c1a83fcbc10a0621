"""Models of conversations: `Conversation`, its inbound events, and the messages of its transcript.

Inbound events and messages are journal rows. They are written once; only the turn that answers an event, and whether
the transcript has it before that turn ends, are added later.
"""

from typing import ClassVar, Self

from django.core.validators import MaxLengthValidator, RegexValidator
from django.db import models
from django.db.models.functions import Now
from django_fsm import transition

from apps.conversations.rules import (
    ASSISTANT_CHANNEL,
    CHANNEL,
    CHANNEL_RULE,
    COMMENT_CHARACTERS,
    EVENT_CHARACTERS,
    LINE_CHARACTERS,
    MOST_DELEGATION_DEPTH,
    PLAYGROUND_CHANNEL,
    SENDER_NAME_CHARACTERS,
)
from apps.governance.actors import Actor, Role
from apps.governance.models import Governed
from apps.governance.models.base import GovernedQuerySet, StateField
from apps.governance.quarantine import quarantine_constraint
from apps.governance.stored_text import validate_storable_text
from apps.tenants.rules import MOST_STEPS


class InboundEvent(models.Model):
    """A message or event that a turn answers. Append-only, except for the reference to that turn."""

    class Kind(models.TextChoices):
        """The source of an event, which decides how it is framed in the prompt (R140, R141)."""

        MESSAGE = "message"
        OPERATOR = "operator"
        SCHEDULE = "schedule"
        # Between agents: the question, its answer, and events about the question in between.
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
        max_length=LINE_CHARACTERS, blank=True, help_text="The line of the channel on which it came in."
    )
    sent_by = models.CharField(
        max_length=200,
        blank=True,
        editable=False,
        help_text="The person or agent that sent it; blank for a customer's message.",
    )
    text = models.TextField()
    text_sha256 = models.CharField(max_length=64)
    received_at = models.DateTimeField(auto_now_add=True)
    due_at = models.DateTimeField(
        db_default=Now(), editable=False, help_text="When a turn may take it. A burst of messages is answered together."
    )
    max_steps = models.PositiveSmallIntegerField(
        null=True,
        help_text="Highest number of model calls in the turn that answers; empty: the limit of the agent or channel.",
    )
    turn_id = models.BigIntegerField(null=True, db_index=True)
    is_in_transcript = models.BooleanField(
        default=False,
        db_default=False,
        editable=False,
        help_text="Set if its message was written before its turn ended, because the turn is delayed or a person answers.",
    )

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
        """Return how long to wait for further messages of a burst. Messages of colleagues are not delayed."""
        return self.conversation.agent.debounce_seconds if self.kind == self.Kind.MESSAGE else 0


class Message(models.Model):
    """One step of the transcript, with its exact API message. Results of tools are stored once, with their calls.

    Append-only.
    """

    class Sender(models.TextChoices):
        """The author of the message."""

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
        default=False, editable=False, help_text="Whether this is the turn's reply to the customer."
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


# Django expects the models of an app in this module.
__all__ = ["Conversation", "InboundEvent", "Message"]


class ConversationQuerySet(GovernedQuerySet["Conversation"]):
    """Filters for conversations."""

    def visible_to(self, actor: Actor) -> Self:
        """Return the tenant's conversations, but of talks with assistants only the actor's own."""
        rows = super().visible_to(actor)
        if actor.role is Role.SYSTEM:
            return rows
        return rows.filter(models.Q(member_user_id=None) | models.Q(member_user_id=actor.talks_as))

    def of_customers(self) -> Self:
        """Return the conversations without members' talks."""
        return self.filter(member_user_id=None)

    def talks_of(self, member_user_id: int | None) -> Self:
        """Return a member's talks with assistants."""
        return self.filter(member_user_id=member_user_id, channel=ASSISTANT_CHANNEL).exclude(member_user_id=None)

    def trials_of(self, member_user_id: int | None) -> Self:
        """Return a person's trials of customer-facing agents."""
        return self.filter(member_user_id=member_user_id, channel=PLAYGROUND_CHANNEL).exclude(member_user_id=None)

    def open(self) -> Self:
        """Return the conversations that accept messages."""
        return self.filter(status=Conversation.Status.OPEN)


class Conversation(Governed):
    """A conversation of a customer with an agent on a channel (R008, R069, R108), or a member's talk with an agent (R129)."""

    class Status(models.TextChoices):
        """The status. Resolved and abandoned are final; a later message opens a conversation that follows this one (Z-15)."""

        OPEN = "open"
        RESOLVED = "resolved"
        ABANDONED = "abandoned"

    class Outcome(models.TextChoices):
        """The outcome for the customer, if anybody recorded it."""

        UNKNOWN = "unknown"
        SOLVED = "solved"
        UNSOLVED = "unsolved"

    class Origin(models.TextChoices):
        """The origin of the transcript."""

        LIVE = "live"
        IMPORTED = "imported"

    agent = models.ForeignKey("tenants.Agent", on_delete=models.PROTECT, related_name="+")
    channel = models.CharField(max_length=40, validators=[RegexValidator(CHANNEL, CHANNEL_RULE)])
    conversation_key = models.CharField(max_length=200, validators=[validate_storable_text])
    end_user_key = models.CharField(max_length=200, blank=True)
    status = StateField(max_length=10, choices=Status.choices, default=Status.OPEN)
    outcome = models.CharField(max_length=10, choices=Outcome.choices, default=Outcome.UNKNOWN)
    origin = models.CharField(max_length=10, choices=Origin.choices, default=Origin.LIVE)
    off_the_record = models.BooleanField(
        default=False, editable=False, help_text="Set when the conversation opens. On: nothing is learned from it."
    )
    follows = models.ForeignKey("self", null=True, blank=True, on_delete=models.PROTECT, related_name="followed_by")
    parent = models.ForeignKey(
        "self",
        null=True,
        editable=False,
        db_index=False,
        on_delete=models.PROTECT,
        related_name="children",
        help_text="The conversation in which another agent asked this one; empty if a customer writes.",
    )
    hops = models.PositiveSmallIntegerField(
        default=0, db_default=0, editable=False, help_text="Number of conversations above it."
    )
    delegating_turn_id = models.BigIntegerField(
        null=True, editable=False, help_text="The turn of the agent that asked."
    )
    budget_micro_usd = models.PositiveBigIntegerField(
        null=True, editable=False, help_text="Highest total cost of the answer. Empty: no limit of its own."
    )
    resolved_at = models.DateTimeField(null=True, blank=True)
    proven_at = models.DateTimeField(null=True, editable=False, help_text="When the customer was verified.")
    proven_key_id = models.BigIntegerField(
        null=True, editable=False, help_text="The tenant's key that verified the customer."
    )
    rating = models.PositiveSmallIntegerField(
        null=True, editable=False, help_text="The customer's rating after it ended, from 1 to 5."
    )
    rating_comment = models.TextField(
        blank=True, editable=False, validators=[validate_storable_text, MaxLengthValidator(COMMENT_CHARACTERS)]
    )
    rated_at = models.DateTimeField(null=True, editable=False)
    erased_at = models.DateTimeField(null=True, editable=False, help_text="When texts off the record were last erased.")
    has_external_agent = models.BooleanField(
        default=False, editable=False, help_text="Set when it opens. On: an external agent answers."
    )
    quarantined_at = models.DateTimeField(
        null=True, editable=False, help_text="Set: nothing is learned from it, and no prompt shows what was."
    )
    quarantined_by = models.CharField(max_length=200, blank=True, editable=False)
    quarantine_reason = models.TextField(blank=True, editable=False, validators=[validate_storable_text])
    taken_over_by = models.CharField(max_length=200, blank=True, editable=False)
    taken_over_by_id = models.BigIntegerField(null=True, editable=False)
    taken_over_at = models.DateTimeField(null=True, editable=False)
    member_user_id = models.BigIntegerField(
        null=True, editable=False, help_text="The member who talks with an assistant; empty if a customer writes."
    )
    # Not a foreign key, because a proposal may be withdrawn while somebody tries it.
    trial_proposal_id = models.BigIntegerField(
        null=True,
        editable=False,
        help_text="The open proposal that is tried as if it were applied; playground only.",
    )

    named_by_customer = True

    noun = "conversation"
    objects = ConversationQuerySet.as_manager()

    class Meta(Governed.Meta):
        ordering: ClassVar = ["-id"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["tenant", "agent", "channel", "conversation_key"],
                condition=models.Q(status="open"),
                name="one_open_conversation_per_thread",
                violation_error_message="This thread has an open conversation already.",
            ),
            models.UniqueConstraint(
                fields=["tenant", "agent", "conversation_key"],
                condition=models.Q(origin="imported"),
                name="transcript_is_imported_once",
                violation_error_message="This transcript has been imported already.",
            ),
            models.CheckConstraint(
                condition=models.Q(status="resolved") | models.Q(resolved_at__isnull=True),
                name="only_a_resolved_conversation_has_a_time_of_resolution",
            ),
            models.CheckConstraint(
                condition=models.Q(taken_over_by="", taken_over_by_id__isnull=True, taken_over_at__isnull=True)
                | (~models.Q(taken_over_by="") & models.Q(taken_over_by_id__isnull=False, taken_over_at__isnull=False)),
                name="taken_over_conversation_names_its_operator",
            ),
            quarantine_constraint("conversation"),
            models.CheckConstraint(
                condition=models.Q(
                    parent__isnull=True, hops=0, delegating_turn_id__isnull=True, budget_micro_usd__isnull=True
                )
                | models.Q(
                    parent__isnull=False, hops__gt=0, hops__lte=MOST_DELEGATION_DEPTH, delegating_turn_id__isnull=False
                ),
                name="delegated_conversation_names_its_delegating_turn",
            ),
            models.CheckConstraint(
                condition=models.Q(proven_at__isnull=True, proven_key_id__isnull=True)
                | (models.Q(proven_at__isnull=False, proven_key_id__isnull=False) & ~models.Q(end_user_key="")),
                name="proven_conversation_names_its_customer_and_the_key",
            ),
            models.CheckConstraint(
                condition=models.Q(rating__isnull=True, rating_comment="", rated_at__isnull=True)
                | (models.Q(rating__gte=1, rating__lte=5, rated_at__isnull=False) & ~models.Q(status="open")),
                name="ended_conversation_is_rated_from_1_to_5",
            ),
            models.CheckConstraint(
                condition=models.Q(rating_comment="") | models.Q(off_the_record=False),
                name="off_the_record_conversation_has_no_comment",
            ),
            models.CheckConstraint(
                condition=models.Q(member_user_id__isnull=True)
                | models.Q(
                    ~models.Q(status="resolved"),
                    channel__in=[ASSISTANT_CHANNEL, PLAYGROUND_CHANNEL],
                    end_user_key="",
                    origin="live",
                    parent__isnull=True,
                    follows__isnull=True,
                    taken_over_at__isnull=True,
                    rating__isnull=True,
                ),
                name="talk_of_a_member_is_no_customers_conversation",
                violation_error_message="This is a member's talk with an assistant, so it cannot have values of a customer's"
                " conversation.",
            ),
            models.CheckConstraint(
                condition=~models.Q(channel=PLAYGROUND_CHANNEL)
                | models.Q(member_user_id__isnull=False, off_the_record=True),
                name="trial_is_a_persons_own_and_off_the_record",
            ),
            models.CheckConstraint(
                condition=models.Q(has_external_agent=False)
                | models.Q(origin="live", parent__isnull=True, member_user_id__isnull=True),
                name="external_agent_answers_only_customers",
            ),
            models.CheckConstraint(
                condition=models.Q(trial_proposal_id__isnull=True) | models.Q(channel=PLAYGROUND_CHANNEL),
                name="trial_proposal_is_only_in_the_playground",
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["tenant", "status", "id"], name="conversation_by_status"),
            models.Index(
                fields=["tenant", "end_user_key", "created_at"],
                condition=~models.Q(end_user_key=""),
                name="conversation_of_customer",
            ),
            models.Index(fields=["id"], condition=models.Q(off_the_record=True), name="conversation_off_the_record"),
            models.Index(
                fields=["tenant", "parent"], condition=models.Q(parent__isnull=False), name="conversation_by_parent"
            ),
            models.Index(
                fields=["tenant", "member_user_id"],
                condition=models.Q(member_user_id__isnull=False),
                name="talk_of_a_member",
            ),
            models.Index(
                fields=["tenant", "created_at"],
                condition=models.Q(member_user_id__isnull=True),
                name="conversation_by_creation",
            ),
            models.Index(
                fields=["tenant", "agent", "id"],
                condition=models.Q(origin="live", parent__isnull=True, member_user_id__isnull=True),
                name="conversation_of_agent",
            ),
            models.Index(
                fields=["tenant", "resolved_at"],
                condition=models.Q(resolved_at__isnull=False),
                name="conversation_by_resolution",
            ),
            models.Index(
                fields=["tenant", "id"],
                condition=models.Q(quarantined_at__isnull=False),
                name="conversation_in_quarantine",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.channel}:{self.conversation_key}"

    @property
    def is_asked(self) -> bool:
        """Whether this is a delegated conversation: another agent asked the question and reads the answer."""
        return self.parent_id is not None

    @property
    def is_talk(self) -> bool:
        """Whether this is a member's talk, with an assistant or in the playground, without a customer."""
        return self.member_user_id is not None

    @property
    def is_trial(self) -> bool:
        """Whether this is a person's trial of a customer-facing agent."""
        return self.channel == PLAYGROUND_CHANNEL

    @property
    def tells_off_the_record(self) -> bool:
        """Whether the agent is told that the conversation is off the record. In a trial it is told the same as with customers."""
        return self.off_the_record and not self.is_trial

    @property
    def is_held(self) -> bool:
        """Whether a person has taken over, so that the agent does not answer."""
        return self.taken_over_at is not None

    @property
    def is_quarantined(self) -> bool:
        """Whether a person put the conversation in quarantine, so that learning does not use it."""
        return self.quarantined_at is not None

    @property
    def is_proven(self) -> bool:
        """Whether the customer is verified."""
        return self.proven_at is not None

    @property
    def next_position(self) -> int:
        """Return the position of the next message. The caller has the row locked."""
        last: int | None = self.messages.aggregate(last=models.Max("position"))["last"]
        return 0 if last is None else last + 1

    @transition(field=status, source=Status.OPEN, target=Status.RESOLVED)
    def resolve(self) -> None:
        """Resolve the conversation. Learning may read it."""

    @transition(field=status, source=Status.OPEN, target=Status.ABANDONED)
    def abandon(self) -> None:
        """Abandon the conversation. Nothing is learned from it."""
