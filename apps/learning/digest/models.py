"""Runs of the digest, and who digests an agent's lessons just now."""

from typing import ClassVar

from django.db import models


class DigestRun(models.Model):
    """What came of one digest of an agent's lessons: a version, or why there is none; written once (R153-R158)."""

    class Verdict(models.TextChoices):
        """Every run ends in one of these; a model that could not be reached is asked again first."""

        PROPOSED = "proposed", "A version waits for a person"
        APPLIED = "applied", "A version is read at once"
        REFUSED = "refused", "The answer broke a rule"
        MALFORMED = "malformed", "The answer was unusable"
        FAILED = "failed", "The model refused the request"

    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.PROTECT, related_name="+")
    agent = models.ForeignKey("tenants.Agent", on_delete=models.PROTECT, related_name="+")
    verdict = models.CharField(max_length=10, choices=Verdict.choices)
    reasons = models.JSONField(default=list, help_text="Why nothing came of it, one sentence each.")
    lesson_ids = models.JSONField(default=list, help_text="The lessons it was given.")
    unknown_lesson_ids = models.JSONField(default=list, help_text="Ids of lessons that the answer made up.")
    # Versions are pruned, so the database does not hold this reference.
    learning_version = models.ForeignKey(
        "learning.LearningVersion", null=True, on_delete=models.DO_NOTHING, db_constraint=False, related_name="+"
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
                condition=models.Q(verdict__in=["proposed", "applied"], learning_version__isnull=False)
                | ~models.Q(verdict__in=["proposed", "applied"]) & models.Q(learning_version__isnull=True),
                name="digest_names_its_version_or_has_none",
            ),
        ]

    def __str__(self) -> str:
        return f"Digest {self.pk}: {self.get_verdict_display()}"


class DigestClaim(models.Model):
    """Who digests an agent's lessons just now, since when those are read that were, and when the next look is due."""

    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.PROTECT, related_name="+")
    agent = models.OneToOneField("tenants.Agent", on_delete=models.PROTECT, related_name="+")
    lease_until = models.DateTimeField()
    claimed_at = models.DateTimeField()
    last_digest_at = models.DateTimeField(null=True, help_text="What was noted before this was in a digest that ended.")
    next_attempt_at = models.DateTimeField()
    failures = models.PositiveIntegerField(default=0, help_text="Calls of the model that failed in a row.")
    failure_code = models.CharField(max_length=40, blank=True, help_text="The code of the latest failure.")

    def __str__(self) -> str:
        return f"Agent {self.agent_id}, {self.failures} failures"
