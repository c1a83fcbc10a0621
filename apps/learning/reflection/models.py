"""Reflections: one row for each agent and day."""

from typing import ClassVar

from django.db import models


class Reflection(models.Model):
    """The reflection on one day of an agent: leased, retried after failures, and settled once (R119)."""

    class Verdict(models.TextChoices):
        """The outcome; learning nothing is normal and counted as well."""

        WAITING = "waiting", "Not settled yet"
        DRAFTED = "drafted", "Drafted something for a person"
        TOO_FEW = "too-few", "No conversation to learn from"
        NOTHING = "nothing", "The model found nothing to learn"
        KNOWN = "known", "The agent knows it already"
        MALFORMED = "malformed", "The model's answer was unusable"
        REFUSED = "refused", "The drafts broke a rule"
        FAILED = "failed", "The model failed"

    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.PROTECT, related_name="+")
    agent = models.ForeignKey("tenants.Agent", on_delete=models.PROTECT, related_name="+")
    day = models.DateField(help_text="By the tenant's clock, from eleven in the evening before.")
    verdict = models.CharField(max_length=12, choices=Verdict.choices, default=Verdict.WAITING)
    reason = models.TextField(blank=True)
    conversation_ids = models.JSONField(
        default=list, blank=True, help_text="The ids of the conversations that were read."
    )
    skill_ids = models.JSONField(default=list, blank=True, help_text="The ids of the drafts that it made.")
    proposal_ids = models.JSONField(
        default=list,
        db_default=models.Value([], models.JSONField()),
        blank=True,
        help_text="The ids of the proposals of memory lines.",
    )
    model = models.CharField(max_length=80, blank=True)
    is_stand_in = models.BooleanField(default=False)
    input_tokens = models.PositiveIntegerField(default=0)
    output_tokens = models.PositiveIntegerField(default=0)
    cost_micro_usd = models.PositiveBigIntegerField(
        null=True, help_text="Empty: no price is known, or the stand-in answered."
    )
    created_at = models.DateTimeField(auto_now_add=True)
    lease_until = models.DateTimeField()
    next_attempt_at = models.DateTimeField()
    failures = models.PositiveIntegerField(default=0, help_text="Failed model calls for it.")

    class Meta:
        ordering: ClassVar = ["-id"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["tenant", "agent", "day"], name="agent_reflects_once_on_a_day"),
            models.CheckConstraint(
                condition=models.Q(verdict="waiting") | ~models.Q(reason=""), name="settled_reflection_says_why"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.get_verdict_display()} ({self.day})"
