"""The schedule of each memory tier of an agent, and the journal of distillation runs."""

from typing import ClassVar

from django.db import models
from django.db.models.functions import Now

from apps.memory.models import MemoryTier


class TierClock(models.Model):
    """When a tier is due next, and the lease on it. The tier's text is in its own row."""

    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.PROTECT, related_name="+")
    agent = models.ForeignKey("tenants.Agent", on_delete=models.PROTECT, related_name="+")
    tier = models.CharField(max_length=5, choices=MemoryTier.Tier.choices)
    next_run_at = models.DateTimeField()
    lease_until = models.DateTimeField(db_default=Now())
    failures = models.PositiveIntegerField(default=0, help_text="Failed model calls since the last run.")
    requested_by = models.CharField(max_length=200, blank=True, help_text="Who requested a run outside the schedule.")

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["tenant", "agent", "tier"], name="tier_has_one_clock"),
        ]

    def __str__(self) -> str:
        return f"{self.tier} of agent {self.agent_id}"


class TierRun(models.Model):
    """One distillation run and its outcome; append-only."""

    class Verdict(models.TextChoices):
        """The outcome of a run; having nothing new to distil is a normal outcome."""

        STORED = "stored", "Stored"
        PENDING = "pending", "Waits for a person"
        NOTHING = "nothing", "Nothing new"
        REFUSED = "refused", "Refused: it would drop too much or add unsupported facts"
        MALFORMED = "malformed", "The model's answer was unusable"
        FAILED = "failed", "The model could not be asked"

    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.PROTECT, related_name="+")
    agent = models.ForeignKey("tenants.Agent", on_delete=models.PROTECT, related_name="+")
    tier = models.CharField(max_length=5, choices=MemoryTier.Tier.choices)
    verdict = models.CharField(max_length=10, choices=Verdict.choices)
    reasons = models.JSONField(default=list, blank=True)
    proposed_facts = models.JSONField(default=list, blank=True, help_text="The facts of a rewrite that was refused.")
    facts_before = models.PositiveIntegerField(default=0)
    facts_after = models.PositiveIntegerField(default=0)
    requested_by = models.CharField(max_length=200, blank=True)
    model = models.CharField(max_length=80, blank=True)
    is_stand_in = models.BooleanField(default=False)
    input_tokens = models.PositiveIntegerField(default=0)
    output_tokens = models.PositiveIntegerField(default=0)
    cost_micro_usd = models.PositiveBigIntegerField(
        null=True, help_text="Empty: no price is known, or the stand-in answered."
    )
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering: ClassVar = ["-id"]
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=models.Q(verdict__in=["stored", "pending", "nothing"]) | ~models.Q(reasons=[]),
                name="run_without_a_result_says_why",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.get_tier_display()}: {self.get_verdict_display()}"
