"""What stands in a remembered text line by line: whose words each line is, since when, and what became of it."""

from typing import ClassVar

from django.db import models

from apps.governance.models import Taint


class Line(models.Model):
    """One line for as long as it stood. The text is the truth; this says where each line of it comes from."""

    class Status(models.TextChoices):
        """What became of the line."""

        ACTIVE = "active", "Stands"
        SUPERSEDED = "superseded", "Another line came in its place"
        REMOVED = "removed", "Taken out"

    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.PROTECT, related_name="+")
    sha256 = models.CharField(max_length=64)
    text = models.TextField()
    author = models.CharField(max_length=200)
    taint = models.CharField(max_length=20, choices=Taint.choices)
    # As the record of the change names it: by its id alone.
    source_conversation_id = models.BigIntegerField(null=True)
    first_version = models.PositiveIntegerField(help_text="The version of the text with which the line came.")
    last_version = models.PositiveIntegerField(help_text="The version that changed anything of it last.")
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.ACTIVE)
    valid_until = models.DateTimeField(null=True, help_text="No session that opens then or later carries it.")
    review_after = models.DateTimeField(null=True, help_text="People look at it from then on.")
    superseded_by = models.ForeignKey("self", null=True, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        abstract = True
        ordering: ClassVar = ["-id"]

    def __str__(self) -> str:
        return self.text[:80]


class MemoryLine(Line):
    """A line of an agent's memory or of a block."""

    agent = models.ForeignKey("tenants.Agent", on_delete=models.PROTECT, related_name="+")
    memory = models.ForeignKey("memory.AgentMemory", null=True, on_delete=models.PROTECT, related_name="ledger")
    block = models.ForeignKey("memory.MemoryBlock", null=True, on_delete=models.PROTECT, related_name="ledger")

    class Meta(Line.Meta):
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
        """The text it is of, by name."""
        return self.block.label if self.block is not None else "Memory"


class ProfileLine(Line):
    """A line of what is noted of one customer."""

    class Field(models.TextChoices):
        """Which of the two texts it is of."""

        PREFERENCES = "preferences"
        NOTES = "notes"

    profile = models.ForeignKey("memory.CustomerProfile", on_delete=models.PROTECT, related_name="ledger")
    field = models.CharField(max_length=11, choices=Field.choices)

    class Meta(Line.Meta):
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
