"""What became of each resolved conversation when the learning looked at it."""

from typing import ClassVar

from django.db import models

from apps.learning.contradictions import models as contradiction_models
from apps.learning.lessons import models as lesson_models
from apps.learning.tier_models import TierClock, TierRun

# Django looks for an app's models here.
__all__ = ["Extraction", "ExtractionClaim", "TierClock", "TierRun", "contradiction_models", "lesson_models"]


class Extraction(models.Model):
    """One verdict per conversation, whether or not anything was learned; written once (R110, R117)."""

    class Verdict(models.TextChoices):
        """Nothing to learn is a normal, counted outcome."""

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
    # A discarded draft leaves its verdict behind, so the database does not hold this reference.
    skill = models.ForeignKey(
        "skills.Skill", null=True, on_delete=models.DO_NOTHING, db_constraint=False, related_name="extractions"
    )
    tool_names = models.JSONField(default=list, blank=True, help_text="What the procedure calls, by name.")
    masked_counts = models.JSONField(
        default=dict, blank=True, help_text="How often what of each kind was masked in the draft."
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
    """Who looks at a resolved conversation just now, and when the next look is due after one that failed."""

    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.PROTECT, related_name="+")
    conversation = models.OneToOneField("conversations.Conversation", on_delete=models.PROTECT, related_name="+")
    lease_until = models.DateTimeField()
    next_attempt_at = models.DateTimeField()
    failures = models.PositiveIntegerField(default=0, help_text="Calls of the model that failed over it.")
    failure_code = models.CharField(max_length=40, blank=True, help_text="The code of the latest failure.")

    def __str__(self) -> str:
        return f"Conversation {self.conversation_id}, {self.failures} failures"


class Reflection(models.Model):
    """What an agent's day taught, one row per agent and day: claimed, put off where the model fails, and settled once (R119)."""

    class Verdict(models.TextChoices):
        """Nothing to learn is a normal, counted outcome."""

        WAITING = "waiting", "Not settled yet"
        DRAFTED = "drafted", "Drafted something for a person"
        TOO_FEW = "too-few", "No conversation to learn from"
        NOTHING = "nothing", "The model found nothing to learn"
        KNOWN = "known", "The agent has it already"
        MALFORMED = "malformed", "The model's answer was unusable"
        REFUSED = "refused", "The drafts broke a rule"
        FAILED = "failed", "The model failed over it"

    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.PROTECT, related_name="+")
    agent = models.ForeignKey("tenants.Agent", on_delete=models.PROTECT, related_name="+")
    day = models.DateField(help_text="By the tenant's clock, from eleven in the evening before.")
    verdict = models.CharField(max_length=12, choices=Verdict.choices, default=Verdict.WAITING)
    reason = models.TextField(blank=True)
    conversation_ids = models.JSONField(default=list, blank=True, help_text="The ids of those that were read.")
    skill_ids = models.JSONField(default=list, blank=True, help_text="The ids of the drafts it made.")
    proposal_ids = models.JSONField(
        default=list,
        db_default=models.Value([], models.JSONField()),
        blank=True,
        help_text="The ids of the proposals that bring what it would remember before a person.",
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
    failures = models.PositiveIntegerField(default=0, help_text="Calls of the model that failed over it.")

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
