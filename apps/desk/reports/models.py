"""The report: a person's statement that an agent's reply is wrong, and its outcome."""

from typing import ClassVar, Self

from django.core.validators import MaxLengthValidator
from django.db import models
from django_fsm import transition

from apps.desk.reports.rules import CORRECTION_CHARACTERS, EXPLANATION_CHARACTERS, RESOLUTION_CHARACTERS
from apps.governance.models import Governed
from apps.governance.models.base import GovernedQuerySet, StateField
from apps.governance.stored_text import validate_storable_text


class ReportQuerySet(GovernedQuerySet["Report"]):
    """Filters for reports."""

    def open(self) -> Self:
        """Return the reports that are not settled or withdrawn."""
        return self.filter(status=Report.Status.OPEN)

    def standing(self) -> Self:
        """Return the reports that count: neither withdrawn nor settled as "nothing was wrong"."""
        taken_back = models.Q(status=Report.Status.WITHDRAWN)
        return self.exclude(taken_back | models.Q(outcome=Report.Outcome.NOTHING_WRONG))

    def of_conversation(self, conversation_id: int) -> Self:
        """Return the reports of one conversation, oldest first."""
        return self.filter(conversation=conversation_id).order_by("pk")


class Report(Governed):
    """One person's report of one reply.

    It does not quote the reply, which stays in the transcript. Agents cannot read reports.
    """

    class Status(models.TextChoices):
        """The state of a report. Both states except open are final; after a withdrawal, the reply can be reported again."""

        OPEN = "open"
        RESOLVED = "resolved"
        WITHDRAWN = "withdrawn"

    class Reason(models.TextChoices):
        """What is wrong with the reply, as a code for statistics."""

        WRONG_FACT = "wrong_fact", "A fact is wrong"
        AGAINST_POLICY = "against_policy", "Against policy"
        WRONG_TONE = "wrong_tone", "Wrong tone"
        NOT_ESCALATED = "not_escalated", "A person should have been asked"
        PRIVATE_DATA = "private_data", "Shows private data"
        INCOMPLETE = "incomplete", "Leaves something out"
        OTHER = "other", "Other"

    class Outcome(models.TextChoices):
        """The outcome of a report: what has to change, or that nothing was wrong."""

        SKILL = "skill", "A skill is to be changed"
        MEMORY = "memory", "Memory is to be changed"
        PERSONA = "persona", "The persona or a rule is to be changed"
        TOOL = "tool", "A tool or its data is to be changed"
        LESSON = "lesson", "What was said is lesson enough"
        NOTHING_WRONG = "nothing_wrong", "Nothing was wrong"

    conversation = models.ForeignKey(
        "conversations.Conversation", on_delete=models.PROTECT, related_name="reports", editable=False
    )
    agent = models.ForeignKey("tenants.Agent", on_delete=models.PROTECT, related_name="+", editable=False)
    message = models.ForeignKey(
        "conversations.Message", on_delete=models.PROTECT, related_name="reports", editable=False
    )
    reason_code = models.CharField("what is wrong", max_length=20, choices=Reason.choices)
    explanation = models.TextField(
        blank=True, validators=[validate_storable_text, MaxLengthValidator(EXPLANATION_CHARACTERS)]
    )
    correction = models.TextField(
        "what should have been said",
        blank=True,
        validators=[validate_storable_text, MaxLengthValidator(CORRECTION_CHARACTERS)],
    )
    status = StateField(max_length=10, choices=Status.choices, default=Status.OPEN)
    author = models.CharField(max_length=200, editable=False)
    outcome = models.CharField(max_length=20, choices=Outcome.choices, blank=True)
    resolution = models.TextField(
        "what was done about it",
        blank=True,
        validators=[validate_storable_text, MaxLengthValidator(RESOLUTION_CHARACTERS)],
    )
    decided_by = models.CharField(max_length=200, blank=True, editable=False)
    decided_at = models.DateTimeField(null=True, editable=False)

    noun = "report"
    objects = ReportQuerySet.as_manager()

    class Meta(Governed.Meta):
        ordering: ClassVar = ["-id"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["tenant", "message", "author"],
                condition=~models.Q(status="withdrawn"),
                name="person_reports_a_reply_once",
                violation_error_message="You have reported this reply already. Withdraw that report to make another.",
            ),
            models.CheckConstraint(condition=~models.Q(author=""), name="report_names_its_author"),
            models.CheckConstraint(
                condition=~models.Q(status="withdrawn") | models.Q(explanation="", correction=""),
                name="withdrawn_report_has_no_text",
            ),
            models.CheckConstraint(
                condition=models.Q(status="withdrawn") | ~models.Q(reason_code="other") | ~models.Q(explanation=""),
                name="report_for_reason_other_has_an_explanation",
            ),
            models.CheckConstraint(
                condition=models.Q(status="resolved", decided_at__isnull=False)
                & ~models.Q(outcome="")
                & ~models.Q(decided_by="")
                | ~models.Q(status="resolved")
                & models.Q(outcome="", resolution="", decided_by="", decided_at__isnull=True),
                name="resolved_report_has_an_outcome",
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["tenant", "status", "id"], name="report_by_status"),
            models.Index(fields=["tenant", "conversation", "id"], name="report_by_conversation"),
            models.Index(fields=["tenant", "created_at"], name="report_by_time"),
            models.Index(
                fields=["decided_at"], condition=models.Q(status="resolved"), name="resolved_report_by_decision"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.get_reason_code_display()} ({self.get_status_display()})"

    @transition(field=status, source=Status.OPEN, target=Status.RESOLVED)
    def settle(self) -> None:
        """Mark the report as settled. The caller sets the outcome."""

    @transition(field=status, source=Status.OPEN, target=Status.WITHDRAWN)
    def withdraw(self) -> None:
        """Mark the report as withdrawn. Its text disappears from every page and is kept only in the change history."""
