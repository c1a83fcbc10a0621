"""Models of the desk: drafts, escalations, and the send rules that decide which replies become drafts."""

from typing import ClassVar, Self

from django.core.validators import MaxLengthValidator, RegexValidator
from django.db import models
from django_fsm import transition

from apps.desk.reports import models as report_models
from apps.desk.rules import (
    ANSWER_CHARACTERS,
    CHANNEL,
    CHANNEL_RULE,
    DRAFT_CHARACTERS,
    QUESTION_CHARACTERS,
    REASON_CHARACTERS,
    Grounding,
    SendRuleValue,
)
from apps.governance.models import Governed
from apps.governance.models.base import GovernedQuerySet, StateField
from apps.governance.stored_text import content_sha256, validate_storable_text
from apps.prompt.prompt_input import SendMode
from apps.tenants.models import SEND_MODES

# Django looks for an app's models in this module.
__all__ = [
    "Draft",
    "DraftQuerySet",
    "Escalation",
    "EscalationQuerySet",
    "SendRule",
    "SendRuleQuerySet",
    "report_models",
]


class DraftQuerySet(GovernedQuerySet["Draft"]):
    """Filters for drafts."""

    def open(self) -> Self:
        """Return the drafts that await a decision."""
        return self.filter(status=Draft.Status.OPEN)

    def of_conversation(self, conversation_id: int) -> Self:
        """Return the drafts of one conversation."""
        return self.filter(conversation=conversation_id)


class Draft(Governed):
    """An agent's reply that awaits a person's decision (R134, R138).

    The draft's text never changes; the text that was sent is stored separately.
    """

    class Status(models.TextChoices):
        """The state of a draft. All states except open are final."""

        OPEN = "open"
        SENT = "sent"
        SENT_EDITED = "sent_edited", "Sent as edited"
        DISCARDED = "discarded"
        SUPERSEDED = "superseded"

    class Reason(models.TextChoices):
        """The reason for discarding a draft, as a code that learning can count."""

        WRONG = "wrong", "Wrong"
        UNGROUNDED = "ungrounded", "Says what nothing supports"
        AGAINST_POLICY = "against_policy", "Against policy"
        WRONG_TONE = "wrong_tone", "Wrong tone"
        INCOMPLETE = "incomplete", "Leaves something out"
        NOT_NEEDED = "not_needed", "No reply is needed"
        OTHER = "other", "Other"

    conversation = models.ForeignKey("conversations.Conversation", on_delete=models.PROTECT, related_name="drafts")
    agent = models.ForeignKey("tenants.Agent", on_delete=models.PROTECT, related_name="+")
    turn_id = models.BigIntegerField(editable=False)
    text = models.TextField(validators=[validate_storable_text, MaxLengthValidator(DRAFT_CHARACTERS)])
    grounding = models.CharField(
        max_length=10,
        choices=[
            (Grounding.SKILL.value, "A skill it read"),
            (Grounding.TOOL.value, "A tool's answer"),
            (Grounding.PROFILE.value, "The customer's profile"),
            (Grounding.NONE.value, "Nothing on record"),
        ],
    )
    facts = models.JSONField(default=list, blank=True)
    status = StateField(max_length=12, choices=Status.choices, default=Status.OPEN)
    sent_text = models.TextField(blank=True, validators=[validate_storable_text, MaxLengthValidator(DRAFT_CHARACTERS)])
    reason_code = models.CharField("what is wrong", max_length=20, choices=Reason.choices, blank=True)
    reason = models.TextField(blank=True, validators=[validate_storable_text, MaxLengthValidator(REASON_CHARACTERS)])
    decided_by = models.CharField(max_length=200, blank=True, editable=False)
    decided_at = models.DateTimeField(null=True, editable=False)
    message = models.ForeignKey(
        "conversations.Message", null=True, editable=False, on_delete=models.PROTECT, related_name="+"
    )

    noun = "draft"
    objects = DraftQuerySet.as_manager()

    class Meta(Governed.Meta):
        ordering: ClassVar = ["-id"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["tenant", "conversation"],
                condition=models.Q(status="open"),
                name="one_open_draft_per_conversation",
                violation_error_message="A draft of this conversation is open already. Decide on that one first.",
            ),
            models.UniqueConstraint(
                fields=["tenant", "turn_id"],
                name="turn_makes_one_draft",
                violation_error_message="This turn has created a draft already.",
            ),
            models.CheckConstraint(
                condition=models.Q(status="open") | ~models.Q(decided_by=""), name="decided_draft_names_who_decided"
            ),
            models.CheckConstraint(
                condition=models.Q(status__in=["sent", "sent_edited"], message__isnull=False)
                | (~models.Q(status__in=["sent", "sent_edited"]) & models.Q(message__isnull=True)),
                name="sent_draft_names_its_message",
            ),
            models.CheckConstraint(
                condition=~models.Q(status="discarded") | ~models.Q(reason_code=""),
                name="discarded_draft_has_a_reason_code",
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["tenant", "status", "id"], name="draft_by_status"),
            models.Index(
                fields=["decided_at"],
                condition=models.Q(status__in=["sent_edited", "discarded"]),
                name="corrected_draft_by_decision",
            ),
            models.Index(
                fields=["tenant", "status", "decided_at"],
                condition=models.Q(decided_at__isnull=False),
                name="draft_by_decision",
            ),
        ]

    def __str__(self) -> str:
        return f"Draft of turn {self.turn_id}"

    @property
    def text_sha256(self) -> str:
        """Return the hash of the text, which the decision to send must name."""
        return content_sha256(self.text)

    @transition(field=status, source=Status.OPEN, target=Status.SENT)
    def send(self) -> None:
        """Mark the draft as sent in the agent's words."""

    @transition(field=status, source=Status.OPEN, target=Status.SENT_EDITED)
    def send_edited(self) -> None:
        """Mark the draft as replaced by a person's text, which was sent instead."""

    @transition(field=status, source=Status.OPEN, target=Status.DISCARDED)
    def discard(self) -> None:
        """Mark the draft as discarded."""

    @transition(field=status, source=Status.OPEN, target=Status.SUPERSEDED)
    def supersede(self) -> None:
        """Mark the draft as superseded because the conversation moved on. A later draft may replace it."""


class EscalationQuerySet(GovernedQuerySet["Escalation"]):
    """Filters for escalations."""

    def open(self) -> Self:
        """Return the escalations that await an answer."""
        return self.filter(status=Escalation.Status.OPEN)

    def of_conversation(self, conversation_id: int) -> Self:
        """Return the escalations of one conversation."""
        return self.filter(conversation=conversation_id)


class Escalation(Governed):
    """A question that an agent could not answer and handed to a person (R135, R136)."""

    class Status(models.TextChoices):
        """The state of an escalation. Both states except open are final."""

        OPEN = "open"
        ANSWERED = "answered"
        DISMISSED = "dismissed"

    class Reason(models.TextChoices):
        """Why the question needs a person."""

        CUSTOMER_ASKED = "customer_asked", "The customer asked for a person"
        MISSING_KNOWLEDGE = "missing_knowledge", "The agent does not know"
        POLICY = "policy", "It is not the agent's to decide"
        TOOL_FAILURE = "tool_failure", "A tool failed"
        UNSUPPORTED = "unsupported", "The agent cannot do this"
        BUDGET = "budget", "A budget was spent"
        UNKNOWN_OUTCOME = "unknown_outcome", "It is not known whether something happened"
        MODEL_UNAVAILABLE = "model_unavailable", "The model could not be reached"

    conversation = models.ForeignKey("conversations.Conversation", on_delete=models.PROTECT, related_name="escalations")
    agent = models.ForeignKey("tenants.Agent", on_delete=models.PROTECT, related_name="+")
    turn_id = models.BigIntegerField(null=True, editable=False)
    tool_step_id = models.BigIntegerField(null=True, editable=False)
    reason = models.CharField(max_length=20, choices=Reason.choices)
    question = models.TextField(validators=[validate_storable_text, MaxLengthValidator(QUESTION_CHARACTERS)])
    opened_by = models.CharField(max_length=200, editable=False)
    status = StateField(max_length=10, choices=Status.choices, default=Status.OPEN)
    answer = models.TextField(blank=True, validators=[validate_storable_text, MaxLengthValidator(ANSWER_CHARACTERS)])
    dismissal_reason = models.TextField(
        "why it needs no answer", blank=True, validators=[validate_storable_text, MaxLengthValidator(REASON_CHARACTERS)]
    )
    decided_by = models.CharField(max_length=200, blank=True, editable=False)
    decided_at = models.DateTimeField(null=True, editable=False)

    noun = "escalation"
    objects = EscalationQuerySet.as_manager()

    class Meta(Governed.Meta):
        ordering: ClassVar = ["-id"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["tenant", "conversation", "reason"],
                condition=models.Q(status="open"),
                name="one_open_escalation_of_a_reason",
                violation_error_message="A question of this conversation is open for this reason already.",
            ),
            models.CheckConstraint(
                condition=models.Q(status="open") | ~models.Q(decided_by=""),
                name="decided_escalation_names_who_decided",
            ),
            models.CheckConstraint(
                condition=models.Q(status="answered") | models.Q(answer=""),
                name="only_an_answered_escalation_has_an_answer",
            ),
            models.CheckConstraint(
                condition=~models.Q(status="answered") | ~models.Q(answer=""), name="answered_escalation_has_its_answer"
            ),
            models.CheckConstraint(condition=~models.Q(question=""), name="escalation_has_a_question"),
        ]
        indexes: ClassVar = [
            models.Index(fields=["tenant", "status", "id"], name="escalation_by_status"),
            models.Index(
                fields=["decided_at"], condition=models.Q(status="answered"), name="answered_escalation_by_time"
            ),
            models.Index(fields=["tenant", "created_at"], name="escalation_by_time"),
        ]

    def __str__(self) -> str:
        return f"{self.get_reason_display()} ({self.get_status_display()})"

    @transition(field=status, source=Status.OPEN, target=Status.ANSWERED)
    def settle(self) -> None:
        """Close the escalation with an answer."""

    @transition(field=status, source=Status.OPEN, target=Status.DISMISSED)
    def dismiss(self) -> None:
        """Close the escalation without an answer."""


class SendRuleQuerySet(GovernedQuerySet["SendRule"]):
    """Filters for send rules."""

    def sendings(self, agent_id: int) -> tuple[SendRuleValue, ...]:
        """Return an agent's send rules in the form that `send_mode_of` takes."""
        rows = self.filter(agent=agent_id).order_by("pk")
        return tuple(SendRuleValue(SendMode(row.send_mode), row.channel, row.skill_id) for row in rows)


class SendRule(Governed):
    """The send mode of an agent's replies on one channel, or of replies after the agent has read one skill.

    For all other replies, the agent's own send mode applies.
    """

    agent = models.ForeignKey("tenants.Agent", on_delete=models.PROTECT, related_name="+")
    channel = models.CharField(
        max_length=40,
        blank=True,
        validators=[RegexValidator(CHANNEL, CHANNEL_RULE)],
        help_text="Such as sms. Empty: every channel.",
    )
    skill = models.ForeignKey(
        "skills.Skill",
        null=True,
        blank=True,
        # The database refuses the deletion. Django's own check would query a table that an agent, which may discard drafts, may
        # not read.
        on_delete=models.DO_NOTHING,
        related_name="+",
        help_text="The rule applies to replies for which the agent has read this skill. Empty: every reply.",
    )
    send_mode = models.CharField("send mode", max_length=10, choices=SEND_MODES)

    noun = "send_rule"
    objects = SendRuleQuerySet.as_manager()

    class Meta(Governed.Meta):
        ordering: ClassVar = ["agent_id", "channel", "id"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["tenant", "agent", "channel", "skill"],
                nulls_distinct=False,
                name="one_send_rule_per_agent_channel_and_skill",
                violation_error_message="There is a rule for this agent, channel and skill already. Change that one.",
            ),
            models.CheckConstraint(
                condition=~models.Q(channel="") | models.Q(skill__isnull=False),
                name="send_rule_names_a_channel_or_a_skill",
                violation_error_message="Choose a channel, a skill, or both. For all replies, set the agent's own send mode.",
            ),
            models.CheckConstraint(
                condition=models.Q(send_mode__in=[mode.value for mode in SendMode]), name="send_rule_has_a_known_mode"
            ),
        ]

    def __str__(self) -> str:
        where = f"channel {self.channel}" if self.channel else "every channel"
        return f"{self.get_send_mode_display().partition(':')[0]} on {where}"
