"""Verdicts on resolved conversations, and the lease of the worker that processes one."""

from typing import ClassVar

from django.db import models


class Extraction(models.Model):
    """The verdict of one conversation, whether or not anything was learned; written once (R110, R117)."""

    class Verdict(models.TextChoices):
        """The verdict; learning nothing is normal and counted as well."""

        DRAFTED = "drafted", "Drafted a skill"
        TOO_SHORT = "too-short", "Too short"
        TRIVIAL = "trivial", "Trivial: no tool was needed"
        UNSOLVED = "unsolved", "Not solved"
        NOTHING = "nothing", "The model found nothing to learn"
        SUPPORTS = "supports", "Adds to a draft that says the same"
        KNOWN = "known", "The agent has such a skill"
        MALFORMED = "malformed", "The model's answer was unusable"
        REFUSED = "refused", "The draft broke a rule"
        FAILED = "failed", "The model refused the request"
        OFF_THE_RECORD = "off-record", "Off the record"
        LEARNING_OFF = "learning-off", "Learning is off for this agent"

    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.PROTECT, related_name="+")
    agent = models.ForeignKey("tenants.Agent", on_delete=models.PROTECT, related_name="+")
    conversation = models.OneToOneField(
        "conversations.Conversation", on_delete=models.PROTECT, related_name="extraction"
    )
    verdict = models.CharField(max_length=12, choices=Verdict.choices)
    reason = models.TextField()
    # The verdict outlives a discarded draft, so the database has no foreign key here.
    skill = models.ForeignKey(
        "skills.Skill", null=True, on_delete=models.DO_NOTHING, db_constraint=False, related_name="extractions"
    )
    tool_names = models.JSONField(
        default=list, blank=True, help_text="The names of the tools that the procedure calls."
    )
    masked_counts = models.JSONField(
        default=dict, blank=True, help_text="The number of masked items in the draft, by kind."
    )
    model = models.CharField(max_length=80, blank=True)
    is_stand_in = models.BooleanField(default=False)
    input_tokens = models.PositiveIntegerField(default=0)
    output_tokens = models.PositiveIntegerField(default=0)
    cost_micro_usd = models.PositiveBigIntegerField(
        null=True, help_text="Empty: no price is known, or the stand-in answered."
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering: ClassVar = ["-id"]
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=~models.Q(verdict="drafted") | models.Q(skill__isnull=False),
                name="drafting_extraction_names_its_skill",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.get_verdict_display()} (conversation {self.conversation_id})"


class ExtractionClaim(models.Model):
    """The lease on a resolved conversation, and the time of the next attempt after a failure."""

    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.PROTECT, related_name="+")
    conversation = models.OneToOneField("conversations.Conversation", on_delete=models.PROTECT, related_name="+")
    lease_until = models.DateTimeField()
    next_attempt_at = models.DateTimeField()
    failures = models.PositiveIntegerField(default=0, help_text="Failed model calls for it.")
    failure_code = models.CharField(max_length=40, blank=True, help_text="The code of the latest failure.")

    def __str__(self) -> str:
        return f"Conversation {self.conversation_id}, {self.failures} failures"
