"""Models of memory: agent memory, memory blocks and distilled tiers (slot 4), customer profiles (slot 5), and their lines.

A line's row keeps the source of one line of text, its first day, and its later state. Distilled tiers are short (recent days),
mid (weeks) and long (lasting facts).
"""

from typing import ClassVar, Final

from django.core.validators import MaxLengthValidator, RegexValidator
from django.db import models
from django.db.models.functions import Lower
from django_fsm import transition

from apps.governance.models import Governed, Taint
from apps.governance.models.base import GovernedQuerySet, StateField
from apps.governance.stored_text import validate_storable_text
from apps.memory.rules import (
    BLOCK_CHARACTERS,
    BODY_CHARACTERS,
    END_USER_KEY_PATTERN,
    END_USER_KEY_RULE,
    LABEL_PATTERN,
    LABEL_RULE,
    PROFILE_CHARACTERS,
)


class AbstractLedgerLine(models.Model):
    """One line of a text, from the version that added it to the version that removed it.

    The text is authoritative; this row records the line's source.
    """

    class Status(models.TextChoices):
        """The state of the line."""

        ACTIVE = "active", "Active"
        SUPERSEDED = "superseded", "Replaced by another line"
        REMOVED = "removed", "Taken out"

    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.PROTECT, related_name="+")
    sha256 = models.CharField(max_length=64)
    text = models.TextField()
    author = models.CharField(max_length=200)
    taint = models.CharField(max_length=20, choices=Taint.choices)
    # Not a foreign key: change records also store only the id.
    source_conversation_id = models.BigIntegerField(null=True)
    first_version = models.PositiveIntegerField(help_text="The version of the text that added the line.")
    last_version = models.PositiveIntegerField(help_text="The version that last changed the line.")
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.ACTIVE)
    valid_until = models.DateTimeField(
        null=True, help_text="Expiry: no session that opens then or later carries the line."
    )
    review_after = models.DateTimeField(null=True, help_text="Review date: the line is due for review from then on.")
    superseded_by = models.ForeignKey("self", null=True, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        abstract = True
        ordering: ClassVar = ["-id"]

    def __str__(self) -> str:
        return self.text[:80]


class MemoryLine(AbstractLedgerLine):
    """A line of an agent's memory or of a memory block."""

    agent = models.ForeignKey("tenants.Agent", on_delete=models.PROTECT, related_name="+")
    memory = models.ForeignKey("memory.AgentMemory", null=True, on_delete=models.PROTECT, related_name="ledger")
    block = models.ForeignKey("memory.MemoryBlock", null=True, on_delete=models.PROTECT, related_name="ledger")

    class Meta(AbstractLedgerLine.Meta):
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["tenant", "memory", "sha256"],
                condition=models.Q(status="active"),
                name="active_memory_line_is_unique",
            ),
            models.UniqueConstraint(
                fields=["tenant", "block", "sha256"],
                condition=models.Q(status="active"),
                name="active_block_line_is_unique",
            ),
            models.CheckConstraint(
                condition=models.Q(memory__isnull=False, block__isnull=True)
                | models.Q(memory__isnull=True, block__isnull=False),
                name="memory_line_belongs_to_one_text",
            ),
            models.CheckConstraint(
                condition=models.Q(status="active", ended_at__isnull=True)
                | (~models.Q(status="active") & models.Q(ended_at__isnull=False)),
                name="ended_memory_line_has_an_end_time",
            ),
        ]
        indexes: ClassVar = [models.Index(fields=["tenant", "agent", "sha256"], name="memory_line_by_sha256")]

    @property
    def where(self) -> str:
        """Return the name of the text that the line belongs to."""
        return self.block.label if self.block is not None else "Memory"


class ProfileLine(AbstractLedgerLine):
    """A line of one customer's profile."""

    class Field(models.TextChoices):
        """The two texts of a profile."""

        PREFERENCES = "preferences"
        NOTES = "notes"

    profile = models.ForeignKey("memory.CustomerProfile", on_delete=models.PROTECT, related_name="ledger")
    field = models.CharField(max_length=11, choices=Field.choices)

    class Meta(AbstractLedgerLine.Meta):
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["tenant", "profile", "field", "sha256"],
                condition=models.Q(status="active"),
                name="active_profile_line_is_unique",
            ),
            models.CheckConstraint(
                condition=models.Q(status="active", ended_at__isnull=True)
                | (~models.Q(status="active") & models.Q(ended_at__isnull=False)),
                name="ended_profile_line_has_an_end_time",
            ),
        ]


DISTILLER: Final = "system:distiller"
TIER_CHARACTERS: Final = 16_000
PERMANENT_PREFIX: Final = "- ! "


class MemoryTier(Governed):
    """One distilled tier of an agent's memory (R168, R170-R172). It contains no customers' words; see docs/learning.md."""

    class Tier(models.TextChoices):
        """The period that a tier covers."""

        SHORT = "short", "Short: the recent days"
        MID = "mid", "Mid: what lasts for weeks"
        LONG = "long", "Long: what lasts"

    class Status(models.TextChoices):
        """The state of a tier. Prompts do not include a pending tier."""

        ACTIVE = "active", "Active"
        PENDING = "pending", "Waits for a person"

    agent = models.ForeignKey("tenants.Agent", on_delete=models.PROTECT, related_name="+")
    tier = models.CharField(max_length=5, choices=Tier.choices)
    body = models.TextField(
        "text",
        blank=True,
        validators=[validate_storable_text, MaxLengthValidator(TIER_CHARACTERS)],
        help_text="One fact per line, starting with a hyphen. A line that starts with “- !” stays permanently, word for word.",
    )
    facts = models.JSONField(default=list, blank=True, editable=False, help_text="Each fact with its evidence.")
    status = StateField(max_length=10, choices=Status.choices, default=Status.ACTIVE)
    updated_by = models.CharField(max_length=200, default=DISTILLER, editable=False)

    noun = "tier"
    named_after = ("agent",)
    objects = GovernedQuerySet["MemoryTier"].as_manager()

    class Meta(Governed.Meta):
        verbose_name = "memory tier"
        ordering: ClassVar = ["agent_id", "id"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["tenant", "agent", "tier"],
                name="agent_has_one_memory_of_a_tier",
                violation_error_message="This agent has this tier already.",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.get_tier_display()}{self.of_agent}"

    @property
    def told(self) -> str:
        """The text as prompts render it, without the marks of permanent facts."""
        return "\n".join(
            f"- {line[len(PERMANENT_PREFIX) :]}" if line.startswith(PERMANENT_PREFIX) else line
            for line in self.body.split("\n")
        )

    @property
    def is_approved(self) -> bool:
        """Whether a person wrote or approved the current text. Prompts fence unapproved text as data (Z-22)."""
        return self.taint == Taint.OPERATOR

    @transition(field=status, source=Status.ACTIVE, target=Status.PENDING)
    def hold(self) -> None:
        """Hold the tier for review. Prompts do not include it until a person approves it."""

    @transition(field=status, source=Status.PENDING, target=Status.ACTIVE)
    def let_stand(self) -> None:
        """Activate the tier. Prompts include it from the next session on."""


__all__ = [
    "AGENT",
    "REMEMBERED_FIELDS",
    "AgentMemory",
    "CustomerProfile",
    "MemoryBlock",
    "MemoryLine",
    "MemoryTier",
    "ProfileLine",
]

AGENT = "agent"
# The fields that memories and blocks share: the text, the dates of its lines, and its author.
REMEMBERED_FIELDS = ("body", "approved_body", "line_dates", "updated_by", "taint")


def _prose_field(characters: int, help_text: str) -> "models.TextField[str, str]":
    return models.TextField(
        blank=True, validators=[validate_storable_text, MaxLengthValidator(characters)], help_text=help_text
    )


class AgentMemory(Governed):
    """Lasting facts about how the tenant works. The agent learns them and writes them itself (R078-R081)."""

    agent = models.ForeignKey("tenants.Agent", on_delete=models.PROTECT, related_name="+")
    body = _prose_field(BODY_CHARACTERS, "Markdown. An update replaces the whole body.")
    approved_body = models.TextField(blank=True, editable=False, help_text="The lines a person wrote or approved.")
    line_dates = models.JSONField(blank=True, default=dict, editable=False)
    updated_by = models.CharField(max_length=200, default=AGENT, editable=False)

    noun = "memory"
    named_after = ("agent",)
    objects = GovernedQuerySet["AgentMemory"].as_manager()

    class Meta(Governed.Meta):
        verbose_name_plural = "agent memories"
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["tenant", "agent"],
                name="agent_has_one_memory",
                violation_error_message="This agent has a memory already. Change that one.",
            ),
        ]

    def __str__(self) -> str:
        return f"Memory{self.of_agent}"

    @property
    def is_approved(self) -> bool:
        """Whether a person wrote or approved the current text. Prompts fence unapproved text as data (Z-22)."""
        return self.taint == Taint.OPERATOR


class MemoryBlock(Governed):
    """A labelled part of an agent's memory. People create it, and the agent updates it unless it is read-only (R159, Z-1)."""

    agent = models.ForeignKey("tenants.Agent", on_delete=models.PROTECT, related_name="+")
    label = models.CharField(
        max_length=60,
        validators=[RegexValidator(LABEL_PATTERN, LABEL_RULE)],
        help_text="Such as BusinessFacts, Preferences or PersonaBelief.",
    )
    body = _prose_field(BLOCK_CHARACTERS, "Markdown. An update replaces the whole body.")
    approved_body = models.TextField(blank=True, editable=False, help_text="The lines a person wrote or approved.")
    line_dates = models.JSONField(blank=True, default=dict, editable=False)
    is_read_only = models.BooleanField(
        "read only", default=False, help_text="On: the agent reads it and cannot change it."
    )
    is_pinned = models.BooleanField(
        "pinned",
        default=False,
        help_text="On: the prompt carries it from the next session on. Off: the prompt does not carry it.",
    )
    updated_by = models.CharField(max_length=200, default=AGENT, editable=False)

    noun = "block"
    objects = GovernedQuerySet["MemoryBlock"].as_manager()

    class Meta(Governed.Meta):
        ordering: ClassVar = ["label", "id"]
        constraints: ClassVar = [
            # Labels that differ only in case or separators count as equal, because models and reviewers could confuse them.
            models.UniqueConstraint(
                models.F("tenant"),
                models.F("agent"),
                models.Func(
                    Lower("label"),
                    models.Value("[ _-]"),
                    models.Value(""),
                    models.Value("g"),
                    function="regexp_replace",
                ),
                name="agent_has_one_block_per_label",
                violation_error_message="This agent has a block with this label already, in some spelling. Change that one.",
            ),
            models.CheckConstraint(
                condition=models.Q(label__regex=LABEL_PATTERN),
                name="block_label_is_words",
                violation_error_message=LABEL_RULE,
            ),
        ]

    def __str__(self) -> str:
        return self.label

    @property
    def is_approved(self) -> bool:
        """Whether a person wrote or approved the current text. Prompts fence unapproved text as data (Z-22)."""
        return self.taint == Taint.OPERATOR


class CustomerProfile(Governed):
    """What the tenant's agents know about one customer, shared among them (R084, R085)."""

    end_user_key = models.CharField(
        max_length=200,
        validators=[RegexValidator(END_USER_KEY_PATTERN, END_USER_KEY_RULE), validate_storable_text],
        help_text="Channel and id: slack:U12345.",
    )
    preferences = _prose_field(PROFILE_CHARACTERS, "JSON or markdown.")
    notes = _prose_field(PROFILE_CHARACTERS, "Prose.")
    line_dates = models.JSONField(
        blank=True, default=dict, db_default=models.Value({}, models.JSONField()), editable=False
    )
    last_seen_at = models.DateTimeField()
    updated_by = models.CharField(max_length=200, default=AGENT, editable=False)

    named_by_customer = True

    noun = "profile"
    objects = GovernedQuerySet["CustomerProfile"].as_manager()

    class Meta(Governed.Meta):
        ordering: ClassVar = ["-last_seen_at", "-id"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["tenant", "end_user_key"],
                name="customer_has_one_profile",
                violation_error_message="There is a profile for this customer already. Change that one.",
            ),
        ]
        indexes: ClassVar = [models.Index(fields=["tenant", "-last_seen_at", "-id"], name="customer_seen_lately")]

    def __str__(self) -> str:
        return self.end_user_key

    @property
    def noted(self) -> str:
        """All lines of the profile: the preferences, then the notes."""
        return f"{self.preferences}\n{self.notes}"
