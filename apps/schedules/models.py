"""The schedule: a plan by which an agent begins by itself, once a person approved it; its clock; and its runs."""

from typing import ClassVar, Self

from django.core.exceptions import ValidationError
from django.core.validators import MaxLengthValidator, RegexValidator
from django.db import models
from django.db.models.functions import Now
from django_fsm import transition

from apps.governance.models import Governed
from apps.governance.models.base import GovernedQuerySet, StateField
from apps.governance.stored_text import validate_storable_text
from apps.schedules.rules import CRON_CHARACTERS, INSTRUCTION_CHARACTERS, ONCE, SKIP, cron_flaw
from apps.tenants.models import validate_timezone

KEY_PATTERN = r"^[a-z0-9]+(?:-[a-z0-9]+)*\Z"
CHANNEL_PATTERN = r"^[a-z][a-z0-9_-]*\Z"


def validate_cron(cron: str) -> None:
    """Refuse an expression by which nothing can be planned."""
    if flaw := cron_flaw(cron):
        raise ValidationError(flaw)


class ScheduleQuerySet(GovernedQuerySet["Schedule"]):
    """Adjectives for schedules."""

    def approved(self) -> Self:
        """Those that run."""
        return self.filter(status=Schedule.Status.APPROVED)

    def standing(self) -> Self:
        """Those that run or may come to."""
        return self.exclude(status=Schedule.Status.DEPRECATED)

    def for_agent(self, agent_id: int) -> Self:
        """Those of one agent."""
        return self.filter(agent=agent_id)


class Schedule(Governed):
    """When an agent begins by itself, and which approved skill it then follows (R119, R120, R123)."""

    class Status(models.TextChoices):
        """Only an approved schedule runs. Deprecated is final; a later plan is a schedule of its own."""

        DRAFT = "draft"
        APPROVED = "approved"
        PAUSED = "paused"
        DEPRECATED = "deprecated"

    class Missed(models.TextChoices):
        """What becomes of times that passed while no worker ran."""

        SKIP = SKIP, "Skip them"
        ONCE = ONCE, "Run once, late"

    agent = models.ForeignKey("tenants.Agent", on_delete=models.PROTECT, related_name="+")
    key = models.CharField(
        max_length=60, validators=[RegexValidator(KEY_PATTERN, "Use lower-case letters, digits and single hyphens.")]
    )
    title = models.CharField(max_length=120, validators=[validate_storable_text])
    cron = models.CharField(
        "when",
        max_length=CRON_CHARACTERS,
        validators=[validate_storable_text, validate_cron],
        help_text="Minute, hour, day of the month, month, day of the week: 0 23 * * * is every day at eleven at night.",
    )
    timezone = models.CharField(
        "time zone",
        max_length=64,
        blank=True,
        validators=[validate_storable_text, validate_timezone],
        help_text="Region and city: Europe/Madrid. Empty: the tenant's as it is now.",
    )
    skill = models.ForeignKey(
        "skills.Skill",
        # The database refuses the deletion itself; Django would look, where an agent that discards a draft may not.
        on_delete=models.DO_NOTHING,
        related_name="+",
        help_text="What the agent does. It runs only while this skill is approved.",
    )
    instruction = models.TextField(
        blank=True,
        validators=[validate_storable_text, MaxLengthValidator(INSTRUCTION_CHARACTERS)],
        help_text="What the skill does not say: for this run alone.",
    )
    preamble = models.TextField(
        blank=True,
        validators=[validate_storable_text, MaxLengthValidator(INSTRUCTION_CHARACTERS)],
        help_text="How the agent is told that nobody wrote to it. Empty: in the product's own words.",
    )
    channel = models.CharField(
        "posts to channel",
        max_length=40,
        blank=True,
        validators=[
            RegexValidator(
                CHANNEL_PATTERN, "A channel is lower-case letters, digits, hyphens and underscores, such as http."
            )
        ],
        help_text="Where the result is posted, by the agent's send mode there. Empty: nowhere; it is read in the console.",
    )
    missed_runs = models.CharField("missed runs", max_length=4, choices=Missed.choices, default=Missed.SKIP)
    status = StateField(max_length=10, choices=Status.choices, default=Status.DRAFT)
    drafted_by = models.CharField(max_length=200, editable=False)
    approved_by = models.CharField(max_length=200, blank=True, editable=False)
    approved_at = models.DateTimeField(null=True, editable=False)

    noun = "schedule"
    objects = ScheduleQuerySet.as_manager()

    class Meta(Governed.Meta):
        ordering: ClassVar = ["agent_id", "key"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["tenant", "agent", "key"],
                condition=~models.Q(status="deprecated"),
                name="schedule_key_is_unique_until_deprecated",
                violation_error_message="The agent has a schedule with this key already. Choose another key.",
            ),
            models.CheckConstraint(
                condition=~models.Q(status__in=["approved", "paused"])
                | (~models.Q(approved_by="") & models.Q(approved_at__isnull=False)),
                name="approved_schedule_names_its_approver",
            ),
            models.CheckConstraint(condition=models.Q(key__regex=KEY_PATTERN), name="schedule_key_is_lower_case"),
            models.CheckConstraint(condition=~models.Q(timezone=""), name="schedule_has_a_time_zone"),
        ]

    def __str__(self) -> str:
        return self.key

    @transition(field=status, source=Status.DRAFT, target=Status.APPROVED)
    def approve(self) -> None:
        """From now on it runs."""

    @transition(field=status, source=Status.APPROVED, target=Status.PAUSED)
    def pause(self) -> None:
        """It runs no more until somebody resumes it."""

    @transition(field=status, source=Status.PAUSED, target=Status.APPROVED)
    def resume(self) -> None:
        """It runs again; what would have been meanwhile is not made up for."""

    @transition(field=status, source=[Status.DRAFT, Status.APPROVED, Status.PAUSED], target=Status.DEPRECATED)
    def deprecate(self) -> None:
        """It never runs again."""


class ScheduleClock(models.Model):
    """When a schedule runs next. It stands beside the schedule, whose versions are for what people decide."""

    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.PROTECT, related_name="+")
    schedule = models.OneToOneField(Schedule, on_delete=models.PROTECT, related_name="clock")
    next_run_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return f"{self.next_run_at:%Y-%m-%d %H:%M}"


class ScheduleRun(models.Model):
    """One planned time and what was done about it; append-only. What the agent made of it says the conversation's turn."""

    class Result(models.TextChoices):
        """What was done when the time had come."""

        STARTED = "started", "Begun"
        SKIPPED = "skipped", "Skipped"
        REFUSED = "refused", "Refused"

    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.PROTECT, related_name="+")
    schedule = models.ForeignKey(Schedule, on_delete=models.PROTECT, related_name="runs")
    agent = models.ForeignKey("tenants.Agent", on_delete=models.PROTECT, related_name="+")
    planned_at = models.DateTimeField()
    created_at = models.DateTimeField(db_default=Now())
    result = models.CharField(max_length=10, choices=Result.choices)
    code = models.CharField(max_length=40, blank=True)
    reason = models.TextField(blank=True)
    missed_count = models.PositiveIntegerField(default=0)
    requested_by = models.CharField(max_length=200, blank=True)
    conversation = models.ForeignKey(
        "conversations.Conversation", null=True, on_delete=models.PROTECT, related_name="+"
    )

    class Meta:
        ordering: ClassVar = ["-id"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["tenant", "schedule", "planned_at"], name="schedule_has_one_run_per_planned_time"
            ),
            models.CheckConstraint(
                condition=models.Q(result="started", conversation__isnull=False)
                | (~models.Q(result="started") & models.Q(conversation__isnull=True)),
                name="started_run_has_its_conversation",
            ),
            models.CheckConstraint(
                condition=models.Q(result="started") | ~models.Q(reason=""), name="run_that_did_not_start_says_why"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.get_result_display()} {self.planned_at:%Y-%m-%d %H:%M}"
