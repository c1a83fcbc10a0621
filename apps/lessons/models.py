"""What agents' work showed to be wrong, and each case of it. Journal tables: one writer, no change record."""

from typing import ClassVar, Final

from django.db import models

from apps.lessons import rules

SOURCES: Final = (
    (rules.LessonSource.EDITED_DRAFT.value, "A draft was sent in other words"),
    (rules.LessonSource.DISCARDED_DRAFT.value, "A draft was discarded"),
    (rules.LessonSource.ANSWERED_ESCALATION.value, "A question was answered"),
    (rules.LessonSource.DEAD_TURN.value, "A turn gave no answer"),
    (rules.LessonSource.REJECTED_PROPOSAL.value, "A proposal was rejected"),
)


class Lesson(models.Model):
    """A situation, what went wrong in it, and what to do instead; what identified somebody is masked (R151)."""

    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.PROTECT, related_name="+")
    agent = models.ForeignKey("tenants.Agent", on_delete=models.PROTECT, related_name="+")
    situation = models.TextField()
    went_wrong = models.TextField()
    instead = models.TextField(blank=True)
    source = models.CharField("first seen when", max_length=20, choices=SOURCES)
    dedup_key = models.CharField(max_length=64)
    support_count = models.PositiveIntegerField("cases", default=1)
    confidence = models.FloatField()
    last_seen_at = models.DateTimeField()
    noted_at = models.DateTimeField(help_text="When a case was last written down.")

    class Meta:
        ordering: ClassVar = ["-support_count", "-last_seen_at", "-id"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["tenant", "agent", "dedup_key"], name="lesson_of_an_agent_is_kept_once"),
            models.CheckConstraint(
                condition=models.Q(confidence__gt=0, confidence__lt=1), name="lesson_is_never_quite_sure"
            ),
            models.CheckConstraint(condition=models.Q(support_count__gt=0), name="lesson_has_a_case"),
        ]

    def __str__(self) -> str:
        return f"Lesson {self.pk}"

    @property
    def value(self) -> rules.Lesson:
        """As the rules take it."""
        return rules.Lesson(
            self.pk,
            self.situation,
            self.went_wrong,
            self.instead,
            self.support_count,
            self.confidence,
            self.last_seen_at,
        )

    @property
    def is_promotable(self) -> bool:
        """Whether a digest may be offered it (R155)."""
        return rules.is_promotable(self.value)


class LessonCase(models.Model):
    """One draft, question, turn or proposal that was looked at once, and the lesson it is a case of, if it taught one."""

    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.PROTECT, related_name="+")
    agent = models.ForeignKey("tenants.Agent", on_delete=models.PROTECT, related_name="+")
    lesson = models.ForeignKey(Lesson, null=True, on_delete=models.PROTECT, related_name="cases")
    source = models.CharField(max_length=20, choices=SOURCES)
    source_id = models.BigIntegerField(help_text="Which draft, escalation, turn or proposal.")
    conversation = models.ForeignKey(
        "conversations.Conversation", null=True, on_delete=models.PROTECT, related_name="+"
    )
    nothing_because = models.TextField(blank=True, help_text="Why it taught nothing, where it did not.")
    happened_at = models.DateTimeField()
    noted_at = models.DateTimeField()

    class Meta:
        ordering: ClassVar = ["-id"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["tenant", "source", "source_id"], name="source_is_looked_at_once"),
            models.CheckConstraint(
                condition=models.Q(lesson__isnull=False, nothing_because="")
                | models.Q(lesson__isnull=True) & ~models.Q(nothing_because=""),
                name="case_teaches_something_or_says_why_not",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.get_source_display()} ({self.source_id})"
