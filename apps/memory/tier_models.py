"""What is distilled for an agent's memory: the recent days, what lasts for weeks, and what lasts."""

from typing import ClassVar, Final

from django.core.validators import MaxLengthValidator
from django.db import models
from django_fsm import transition

from apps.governance.models import Governed, Taint
from apps.governance.models.base import GovernedQuerySet, StateField
from apps.governance.stored_text import plain_text

DISTILLER: Final = "system:distiller"
TIER_CHARACTERS: Final = 16_000
PERMANENT: Final = "- ! "


class MemoryTier(Governed):
    """One distilled tier of an agent's memory (R168, R170-R172). No customer's words go into it; see docs/learning.md."""

    class Tier(models.TextChoices):
        """How far it looks back."""

        SHORT = "short", "Short: the recent days"
        MID = "mid", "Mid: what lasts for weeks"
        LONG = "long", "Long: what lasts"

    class Status(models.TextChoices):
        """What is held is in no prompt."""

        ACTIVE = "active", "Stands"
        PENDING = "pending", "Waits for a person"

    agent = models.ForeignKey("tenants.Agent", on_delete=models.PROTECT, related_name="+")
    tier = models.CharField(max_length=5, choices=Tier.choices)
    body = models.TextField(
        "text",
        blank=True,
        validators=[plain_text, MaxLengthValidator(TIER_CHARACTERS)],
        help_text="One fact on each line, with a hyphen. A line that begins with “- !” stays for good, word for word.",
    )
    facts = models.JSONField(default=list, blank=True, editable=False, help_text="Each fact with what it rests on.")
    status = StateField(max_length=10, choices=Status.choices, default=Status.ACTIVE)
    updated_by = models.CharField(max_length=200, default=DISTILLER, editable=False)

    noun = "tier"
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
        return f"{self.get_tier_display()} of agent {self.agent_id}"

    @property
    def told(self) -> str:
        """The text as prompts carry it, without the marks of what is permanent."""
        return "\n".join(
            f"- {line[len(PERMANENT) :]}" if line.startswith(PERMANENT) else line for line in self.body.split("\n")
        )

    @property
    def is_approved(self) -> bool:
        """Whether a person wrote or approved what stands there; other words are fenced in the prompt (Z-22)."""
        return self.taint == Taint.OPERATOR

    @transition(field=status, source=Status.ACTIVE, target=Status.PENDING)
    def hold(self) -> None:
        """It is in no prompt until a person has looked at it."""

    @transition(field=status, source=Status.PENDING, target=Status.ACTIVE)
    def let_stand(self) -> None:
        """From the next session on prompts carry it."""
