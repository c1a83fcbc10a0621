"""The runs of the digest, and the lease on an agent's lessons."""

from typing import ClassVar

from django.db import models


class DigestRun(models.Model):
    """The outcome of one digest of an agent's lessons: a version, or the reason for none. Written once (R153-R158)."""

    class Verdict(models.TextChoices):
        """The outcome of a run. A run whose model call failed gets one only after its retries."""

        PROPOSED = "proposed", "A version waits for a person"
        APPLIED = "applied", "A version is active at once"
        REFUSED = "refused", "The answer broke a rule"
        MALFORMED = "malformed", "The answer was unusable"
        FAILED = "failed", "The model refused the request"

    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.PROTECT, related_name="+")
    agent = models.ForeignKey("tenants.Agent", on_delete=models.PROTECT, related_name="+")
    verdict = models.CharField(max_length=10, choices=Verdict.choices)
    reasons = models.JSONField(default=list, help_text="Why there is no version, one sentence each.")
    lesson_ids = models.JSONField(default=list, help_text="The lessons that it read.")
    unknown_lesson_ids = models.JSONField(default=list, help_text="Ids of lessons that the answer made up.")
    # Versions are pruned, so the database has no foreign key here.
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
    """The lease on an agent's lessons, the time up to which lessons are digested, and the time of the next attempt."""

    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.PROTECT, related_name="+")
    agent = models.OneToOneField("tenants.Agent", on_delete=models.PROTECT, related_name="+")
    lease_until = models.DateTimeField()
    claimed_at = models.DateTimeField()
    last_digest_at = models.DateTimeField(
        null=True, help_text="Lessons recorded before this were in a finished digest."
    )
    next_attempt_at = models.DateTimeField()
    failures = models.PositiveIntegerField(default=0, help_text="Failed model calls in a row.")
    failure_code = models.CharField(max_length=40, blank=True, help_text="The code of the latest failure.")

    def __str__(self) -> str:
        return f"Agent {self.agent_id}, {self.failures} failures"
