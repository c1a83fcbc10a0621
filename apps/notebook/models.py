"""The note of an agent: a reminder, a task or a scratch note, open until it is done or dropped."""

from typing import ClassVar, Self

from django.core.exceptions import ValidationError
from django.core.validators import MaxLengthValidator
from django.db import models
from django_fsm import transition

from apps.governance.actors import Actor, Role
from apps.governance.models import Governed, Taint
from apps.governance.models.base import GovernedQuerySet, StateField
from apps.governance.stored_text import validate_storable_text
from apps.notebook.rules import REMINDER, SCRATCH, TASK, TEXT_CHARACTERS, note_flaws


class NoteQuerySet(GovernedQuerySet["Note"]):
    """Queryset filters for notes."""

    def visible_to(self, actor: Actor) -> Self:
        """The notes that the actor may see (R006, R007).

        An agent sees its own notes. In a turn, these are its notes without a customer, and if the customer is verified, the
        notes about that customer.
        """
        rows = super().visible_to(actor)
        if actor.role is not Role.AGENT:
            return rows
        rows = rows.filter(agent_id=actor.agent_id)
        if actor.customer_key is None:
            return rows
        return rows.filter(end_user_key__in={"", actor.customer_key} if actor.customer_is_proven else {""})

    def open(self) -> Self:
        """Notes that are neither done nor dropped."""
        return self.filter(status=Note.Status.OPEN)

    def kept_by(self, agent_id: int, end_user_key: str) -> Self:
        """Notes of one agent about one customer, or, with an empty key, without a customer."""
        return self.filter(agent_id=agent_id, end_user_key=end_user_key)


class Note(Governed):
    """A note that an agent keeps for later. A note about a customer is only shown in that customer's turns (R177)."""

    class Kind(models.TextChoices):
        """The kind. A reminder is shown from its due time on, a task while it is open, a scratch note for some days."""

        REMINDER = REMINDER, "Reminder"
        TASK = TASK, "Task"
        SCRATCH = SCRATCH, "Scratch"

    class Status(models.TextChoices):
        """The status. Done and dropped are final; if the matter comes up again, it gets a new note."""

        OPEN = "open"
        DONE = "done"
        DROPPED = "dropped"

    agent = models.ForeignKey("tenants.Agent", on_delete=models.PROTECT, related_name="+")
    kind = models.CharField(max_length=10, choices=Kind.choices)
    text = models.TextField(
        validators=[validate_storable_text, MaxLengthValidator(TEXT_CHARACTERS)], help_text="One to a few lines."
    )
    due_at = models.DateTimeField(
        "due",
        null=True,
        blank=True,
        help_text="When to start showing a reminder. A task may have a time, a scratch note has none.",
    )
    end_user_key = models.CharField(
        "customer",
        max_length=200,
        blank=True,
        validators=[validate_storable_text],
        help_text="Channel and id, such as slack:U12345: shown only in turns for this customer. Empty: shown in all turns.",
    )
    conversation = models.ForeignKey(
        "conversations.Conversation", null=True, editable=False, on_delete=models.PROTECT, related_name="+"
    )
    status = StateField(max_length=10, choices=Status.choices, default=Status.OPEN)
    author = models.CharField(max_length=200, editable=False)

    named_by_customer = True

    noun = "note"
    objects = NoteQuerySet.as_manager()

    class Meta(Governed.Meta):
        ordering: ClassVar = ["-id"]
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=~models.Q(kind=REMINDER) | models.Q(due_at__isnull=False), name="reminder_has_a_due_time"
            ),
            models.CheckConstraint(
                condition=~models.Q(kind=SCRATCH) | models.Q(due_at__isnull=True), name="scratch_has_no_due_time"
            ),
            models.CheckConstraint(
                condition=models.Q(kind__in=[REMINDER, TASK, SCRATCH]), name="note_has_a_known_kind"
            ),
            models.CheckConstraint(condition=~models.Q(text=""), name="note_text_is_not_empty"),
            models.CheckConstraint(condition=~models.Q(author=""), name="note_names_its_author"),
        ]
        indexes: ClassVar = [
            models.Index(
                fields=["tenant", "agent", "end_user_key"], condition=models.Q(status="open"), name="open_note_of_agent"
            ),
            models.Index(fields=["updated_at"], condition=models.Q(status="open", kind=SCRATCH), name="scratch_by_age"),
        ]

    def __str__(self) -> str:
        return self.text.partition("\n")[0][:80]

    def clean(self) -> None:
        """Validate that a reminder has a due time, a scratch note has none, and the text has only a few lines."""
        if found := note_flaws(self.kind, self.text, self.due_at):
            raise ValidationError(found)

    @property
    def is_approved(self) -> bool:
        """Return whether a person wrote the text; other text is fenced in the prompt (Z-22)."""
        return self.taint == Taint.OPERATOR

    @transition(field=status, source=Status.OPEN, target=Status.DONE)
    def finish(self) -> None:
        """Mark as done; later sessions do not show it."""

    @transition(field=status, source=Status.OPEN, target=Status.DROPPED)
    def drop(self) -> None:
        """Drop it; later sessions do not show it."""
