"""Contradictions between two lines of an agent's knowledge and behavior, and the latest scan for them."""

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
    """Queryset filters for contradictions."""

    def of_agent(self, agent_id: int) -> Self:
        """Contradictions of one agent."""
        return self.filter(agent=agent_id)

    def open(self) -> Self:
        """Contradictions that still exist and that nobody has dismissed."""
        return self.filter(status=Contradiction.Status.OPEN)

    def about(self, noun: str, row_id: int) -> Self:
        """Contradictions in which this row stores either line."""
        one, other = models.Q(first_type=noun, first_id=row_id), models.Q(second_type=noun, second_id=row_id)
        return self.filter(one | other)


class Contradiction(Governed):
    """Two lines that cannot both be right, one row per pair of texts. People decide about it; no prompt contains it."""

    class Status(models.TextChoices):
        """The status: a dismissed contradiction stays dismissed while both lines are unchanged; a cleared one may reopen."""

        OPEN = "open"
        DISMISSED = "dismissed"
        GONE = "gone"

    class Kinds(models.TextChoices):
        """How the two lines contradict each other."""

        AMOUNT = ContradictionKind.AMOUNT.value, "Different amounts"
        DATE = ContradictionKind.DATE.value, "Different dates"
        OPPOSITE = ContradictionKind.OPPOSITE.value, "Opposites"
        STEPS = ContradictionKind.STEPS.value, "Different steps for the same situation"
        AVOIDED = ContradictionKind.AVOIDED.value, "One requires what the other forbids"
        TOOL = ContradictionKind.TOOL.value, "A tool that the agent may not call"

    class Nouns(models.TextChoices):
        """The kind of row that stores a line."""

        PERSONA = "persona", "Persona"
        RULE = "rule", "Rule"
        MEMORY = "memory", "Memory"
        BLOCK = "block", "Memory block"
        TIER = "tier", "Memory tier"
        SKILL = "skill", "Skill"

    agent = models.ForeignKey("tenants.Agent", on_delete=models.PROTECT, related_name="+")
    kind = models.CharField(max_length=10, choices=Kinds.choices, editable=False)
    pair_sha256 = models.CharField(max_length=64, editable=False)
    conflicting_words = models.TextField(
        blank=True, editable=False, help_text="The words of the first line that clash."
    )
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
        help_text="When a scan last found it, if it is cleared; empty while the latest scan finds it.",
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
        """Dismiss the contradiction: a person decided that both lines may stay."""

    @transition(field=status, source=Status.DISMISSED, target=Status.OPEN)
    def reopen(self) -> None:
        """Reopen the contradiction: a person decided that one of the lines has to change after all."""

    @transition(field=status, source=[Status.OPEN, Status.DISMISSED], target=Status.GONE)
    def clear(self) -> None:
        """Clear the contradiction: the lines no longer contradict each other, or one of them is gone."""

    @transition(field=status, source=Status.GONE, target=Status.OPEN)
    def return_open(self) -> None:
        """Reopen a cleared contradiction whose lines exist again."""

    @transition(field=status, source=Status.GONE, target=Status.DISMISSED)
    def return_dismissed(self) -> None:
        """Return a cleared contradiction to dismissed: the lines exist again, and a person dismissed exactly this pair before."""


class ContradictionScan(models.Model):
    """The scan of an agent's lines: its lease, the night of the latest scan, and how much that scan compared."""

    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.PROTECT, related_name="+")
    agent = models.OneToOneField("tenants.Agent", on_delete=models.PROTECT, related_name="+")
    lease_until = models.DateTimeField()
    scan_date = models.DateField(null=True, help_text="The latest night whose scan ended, by the tenant's clock.")
    scanned_at = models.DateTimeField(null=True)
    requested_at = models.DateTimeField(null=True, help_text="When a person asked for a scan that has not begun yet.")
    text_count = models.PositiveIntegerField(default=0)
    pair_count = models.PositiveIntegerField(default=0, help_text="Pairs of statements that were compared.")
    is_complete = models.BooleanField(default=True, help_text="Off: a limit ended the scan.")

    def __str__(self) -> str:
        return f"Scan of agent {self.agent_id}"
