"""The schedule, by which an agent starts at planned times after a person's approval; its clock; and its runs."""

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
    """Refuse a cron expression that is not valid."""
    if flaw := cron_flaw(cron):
        raise ValidationError(flaw)


class ScheduleQuerySet(GovernedQuerySet["Schedule"]):
    """Filters for schedules."""

    def approved(self) -> Self:
        """Return the schedules that run."""
        return self.filter(status=Schedule.Status.APPROVED)

    def standing(self) -> Self:
        """Return the schedules that run or may run later, which excludes deprecated ones."""
        return self.exclude(status=Schedule.Status.DEPRECATED)

    def for_agent(self, agent_id: int) -> Self:
        """Return the schedules of one agent."""
        return self.filter(agent=agent_id)


class Schedule(Governed):
    """The times at which an agent starts by itself, and the approved skill it follows then (R119, R120, R123)."""

    class Status(models.TextChoices):
        """The status. Only an approved schedule runs. Deprecated is final."""

        DRAFT = "draft"
        APPROVED = "approved"
        PAUSED = "paused"
        DEPRECATED = "deprecated"

    class Missed(models.TextChoices):
        """The handling of times that passed while no worker ran."""

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
        help_text="Region and city, such as Europe/Madrid. Empty: the tenant's present time zone.",
    )
    skill = models.ForeignKey(
        "skills.Skill",
        # The database refuses the deletion. Django's own check would query a table that an agent who discards a draft may not
        # read.
        on_delete=models.DO_NOTHING,
        related_name="+",
        help_text="The skill that the agent follows. The schedule runs only while the skill is approved.",
    )
    instruction = models.TextField(
        blank=True,
        validators=[validate_storable_text, MaxLengthValidator(INSTRUCTION_CHARACTERS)],
        help_text="What the skill does not say: for this run alone.",
    )
    preamble = models.TextField(
        blank=True,
        validators=[validate_storable_text, MaxLengthValidator(INSTRUCTION_CHARACTERS)],
        help_text="The text that tells the agent that it started by itself. Empty: the product's own text.",
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
        help_text="The channel on which the result is posted, by the agent's send mode there. Empty: the result is only"
        " shown in the console.",
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
        """Approve the schedule: it runs."""

    @transition(field=status, source=Status.APPROVED, target=Status.PAUSED)
    def pause(self) -> None:
        """Pause the schedule until a person resumes it."""

    @transition(field=status, source=Status.PAUSED, target=Status.APPROVED)
    def resume(self) -> None:
        """Resume the schedule. Times during the pause are not made up for."""

    @transition(field=status, source=[Status.DRAFT, Status.APPROVED, Status.PAUSED], target=Status.DEPRECATED)
    def deprecate(self) -> None:
        """End the schedule permanently."""


class ScheduleClock(models.Model):
    """The next run of a schedule. It has its own row, because a new version of a schedule only records decisions of people."""

    tenant = models.ForeignKey("tenants.Tenant", on_delete=models.PROTECT, related_name="+")
    schedule = models.OneToOneField(Schedule, on_delete=models.PROTECT, related_name="clock")
    next_run_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return f"{self.next_run_at:%Y-%m-%d %H:%M}"


class ScheduleRun(models.Model):
    """A planned time of a schedule and its result; append-only. The conversation has the result of the turn."""

    class Result(models.TextChoices):
        """The result at a planned time."""

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
