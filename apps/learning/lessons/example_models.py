"""Examples: corrections of drafts that a person chose to be shown with any customer of an agent (Z-12)."""

from typing import ClassVar, Self

from django.db import models
from django_fsm import transition

from apps.governance.models import Governed
from apps.governance.models.base import GovernedQuerySet, StateField


class ExampleQuerySet(GovernedQuerySet["Example"]):
    """Adjectives for examples."""

    def of_agent(self, agent_id: int) -> Self:
        """Those of one agent."""
        return self.filter(agent=agent_id)

    def approved(self) -> Self:
        """What turns may be shown."""
        return self.filter(status=Example.Status.APPROVED)


class Example(Governed):
    """A situation, a draft that was wrong in it, and its correction: masked, signed by a person, and never reworded."""

    class Status(models.TextChoices):
        """It is there because a person said yes, so it waits for nobody."""

        APPROVED = "approved"
        RETIRED = "retired"

    agent = models.ForeignKey("tenants.Agent", on_delete=models.PROTECT, related_name="+")
    lesson = models.ForeignKey("learning.Lesson", on_delete=models.PROTECT, related_name="examples", editable=False)
    situation = models.TextField("what was asked")
    draft = models.TextField("the draft that was wrong")
    correction = models.TextField("what to write instead")
    masked_counts = models.JSONField(
        default=dict, blank=True, editable=False, help_text="How often what of each kind was masked when it was kept."
    )
    keywords = models.JSONField(
        default=list, blank=True, editable=False, help_text="By which words of a message it is found again."
    )
    status = StateField(max_length=10, choices=Status.choices, default=Status.APPROVED)
    approved_by = models.CharField(max_length=200, editable=False)
    approved_at = models.DateTimeField(editable=False)

    noun = "example"
    # They follow from the situation.
    unrecorded = Governed.unrecorded | {"keywords"}
    objects = ExampleQuerySet.as_manager()

    class Meta(Governed.Meta):
        ordering: ClassVar = ["-id"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["tenant", "lesson"],
                condition=models.Q(status="approved"),
                name="lesson_has_one_approved_example",
                violation_error_message="This lesson is an example already. Retire that one to keep other words.",
            ),
            models.CheckConstraint(
                condition=~models.Q(situation="") & ~models.Q(draft="") & ~models.Q(correction=""),
                name="example_has_situation_draft_and_correction",
            ),
            models.CheckConstraint(condition=~models.Q(approved_by=""), name="example_names_its_approver"),
        ]

    def __str__(self) -> str:
        return f"Example {self.pk}"

    @transition(field=status, source=Status.APPROVED, target=Status.RETIRED)
    def retire(self) -> None:
        """No turn that begins from now on is shown it."""
