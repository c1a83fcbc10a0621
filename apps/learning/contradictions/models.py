"""The contradiction: two lines that an agent goes by and that cannot both be right; and the latest look at an agent's lines."""

from typing import ClassVar, Self

from django.core.validators import MaxLengthValidator
from django.db import models
from django_fsm import transition

from apps.governance.models import Governed
from apps.governance.models.base import GovernedQuerySet, StateField
from apps.governance.stored_text import validate_storable_text
from apps.learning.contradictions.rules import REASON_CHARACTERS
from apps.text_analysis.contradictions.detection import ContradictionKind


class ContradictionQuerySet(GovernedQuerySet["Contradiction"]):
    """Adjectives for contradictions."""

    def of_agent(self, agent_id: int) -> Self:
        """Those of one agent."""
        return self.filter(agent=agent_id)

    def open(self) -> Self:
        """Those that stand and that nobody dismissed."""
        return self.filter(status=Contradiction.Status.OPEN)

    def about(self, noun: str, row_id: int) -> Self:
        """Those with a line of this row on either side."""
        one, other = models.Q(first_type=noun, first_id=row_id), models.Q(second_type=noun, second_id=row_id)
        return self.filter(one | other)


class Contradiction(Governed):
    """Two lines that cannot both be right, once for each pair by what they say; a question to people, in nobody's prompt."""

    class Status(models.TextChoices):
        """What is dismissed stays so for as long as both lines say the same; what is gone may come back."""

        OPEN = "open"
        DISMISSED = "dismissed"
        GONE = "gone"

    class Kinds(models.TextChoices):
        """In what the lines contradict each other."""

        AMOUNT = ContradictionKind.AMOUNT.value, "Different amounts"
        DATE = ContradictionKind.DATE.value, "Different dates"
        OPPOSITE = ContradictionKind.OPPOSITE.value, "The opposite of each other"
        STEPS = ContradictionKind.STEPS.value, "Different steps for the same situation"
        AVOIDED = ContradictionKind.AVOIDED.value, "One does what the other avoids"
        TOOL = ContradictionKind.TOOL.value, "A tool that the agent may not call"

    class Nouns(models.TextChoices):
        """Where a line stands."""

        PERSONA = "persona", "Persona"
        RULE = "rule", "Rule"
        MEMORY = "memory", "Memory"
        BLOCK = "block", "Memory block"
        TIER = "tier", "Memory tier"
        SKILL = "skill", "Skill"

    agent = models.ForeignKey("tenants.Agent", on_delete=models.PROTECT, related_name="+")
    kind = models.CharField(max_length=10, choices=Kinds.choices, editable=False)
    pair_sha256 = models.CharField(max_length=64, editable=False)
    conflicting_words = models.TextField(blank=True, editable=False, help_text="The words of the one line that clash.")
    first_type = models.CharField(max_length=10, choices=Nouns.choices, editable=False)
    first_id = models.BigIntegerField(editable=False)
    first_location = models.CharField(max_length=300, editable=False)
    first_text = models.TextField(editable=False)
    second_type = models.CharField(max_length=10, choices=Nouns.choices, blank=True, editable=False)
    second_id = models.BigIntegerField(null=True, editable=False)
    second_location = models.CharField(max_length=300, blank=True, editable=False)
    second_text = models.TextField(blank=True, editable=False)
    last_seen_at = models.DateTimeField(
        null=True,
        editable=False,
        help_text="When a look found it last, where it is gone; empty while the latest look did.",
    )
    status = StateField(max_length=10, choices=Status.choices, default=Status.OPEN)
    dismissal_reason = models.TextField(
        "why it may stay", blank=True, validators=[validate_storable_text, MaxLengthValidator(REASON_CHARACTERS)]
    )
    decided_by = models.CharField(max_length=200, blank=True, editable=False)
    decided_at = models.DateTimeField(null=True, editable=False)

    noun = "contradiction"
    objects = ContradictionQuerySet.as_manager()

    class Meta(Governed.Meta):
        ordering: ClassVar = ["-id"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["tenant", "agent", "pair_sha256"], name="contradiction_is_unique_per_pair"),
            models.CheckConstraint(
                condition=~models.Q(status="dismissed") | ~models.Q(decided_by=""),
                name="dismissed_contradiction_names_who_did",
            ),
            models.CheckConstraint(
                condition=models.Q(decided_by="", dismissal_reason="")
                | ~models.Q(decided_by="") & ~models.Q(dismissal_reason=""),
                name="dismissed_contradiction_has_a_dismissal_reason",
            ),
            models.CheckConstraint(
                condition=models.Q(kind="tool", second_id__isnull=True, second_type="")
                | ~models.Q(kind="tool") & models.Q(second_id__isnull=False) & ~models.Q(second_type=""),
                name="contradiction_has_two_sides_or_names_a_tool",
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["tenant", "first_type", "first_id"], name="contradiction_by_first_side"),
            models.Index(fields=["tenant", "second_type", "second_id"], name="contradiction_by_second_side"),
        ]

    def __str__(self) -> str:
        return f"{self.get_kind_display()} ({self.pk})"

    @transition(field=status, source=Status.OPEN, target=Status.DISMISSED)
    def dismiss(self) -> None:
        """A person says that both lines may stay."""

    @transition(field=status, source=Status.DISMISSED, target=Status.OPEN)
    def reopen(self) -> None:
        """A person says that one of the lines has to change after all."""

    @transition(field=status, source=[Status.OPEN, Status.DISMISSED], target=Status.GONE)
    def clear(self) -> None:
        """The lines do not contradict each other any more, or one is not there."""

    @transition(field=status, source=Status.GONE, target=Status.OPEN)
    def return_open(self) -> None:
        """The same lines stand there again."""

    @transition(field=status, source=Status.GONE, target=Status.DISMISSED)
    def return_dismissed(self) -> None:
        """The same lines stand there again, of which a person has said that both may stay."""


class ContradictionScan(models.Model):
    """Who looks at an agent's lines just now, for which night, and what the latest look that ended went through."""

    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.PROTECT, related_name="+")
    agent = models.OneToOneField("tenants.Agent", on_delete=models.PROTECT, related_name="+")
    lease_until = models.DateTimeField()
    scan_date = models.DateField(null=True, help_text="The latest night whose look ended, by the tenant's clock.")
    scanned_at = models.DateTimeField(null=True)
    requested_at = models.DateTimeField(null=True, help_text="When a person asked for a look that has not begun yet.")
    text_count = models.PositiveIntegerField(default=0)
    pair_count = models.PositiveIntegerField(default=0, help_text="Pairs of statements that were compared.")
    is_complete = models.BooleanField(default=True, help_text="Off: a limit ended the look.")

    def __str__(self) -> str:
        return f"Look at agent {self.agent_id}"
