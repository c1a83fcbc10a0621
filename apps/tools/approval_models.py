"""A call that waits for a person: what would be called with what, and what they said."""

from typing import ClassVar, Self

from django.core.validators import MaxLengthValidator
from django.db import models
from django_fsm import transition

from apps.governance.models import Governed
from apps.governance.models.base import GovernedQuerySet, StateField
from apps.governance.stored_text import plain_text

WHY_CHARACTERS = 1_000


class ToolApprovalQuerySet(GovernedQuerySet["ToolApproval"]):
    """Adjectives for calls that were asked for."""

    def waiting(self) -> Self:
        """Those nobody has decided on."""
        return self.filter(status=ToolApproval.Status.WAITING)

    def standing(self, conversation_id: int, sha256: str) -> Self:
        """Those of one call that may still come to be made."""
        standing = (ToolApproval.Status.WAITING, ToolApproval.Status.APPROVED)
        return self.filter(conversation=conversation_id, call_sha256=sha256, status__in=standing)


class ToolApproval(Governed):
    """One call that an agent asked for and may make once, with these bytes and no others, after a person said yes."""

    class Status(models.TextChoices):
        """Approved may be called; consumed and refused are final."""

        WAITING = "waiting", "Waiting"
        APPROVED = "approved", "Approved"
        REFUSED = "refused", "Refused"
        CONSUMED = "consumed", "Consumed"

    conversation = models.ForeignKey("conversations.Conversation", on_delete=models.PROTECT, related_name="+")
    agent = models.ForeignKey("tenants.Agent", on_delete=models.PROTECT, related_name="+")
    tool_name = models.CharField(max_length=64, editable=False)
    arguments = models.JSONField(editable=False)
    call_sha256 = models.CharField(max_length=64, editable=False)
    turn_id = models.BigIntegerField(null=True, editable=False)
    status = StateField(max_length=10, choices=Status.choices, default=Status.WAITING)
    reason = models.TextField("why not", blank=True, validators=[plain_text, MaxLengthValidator(WHY_CHARACTERS)])
    decided_by = models.CharField(max_length=200, blank=True, editable=False)
    decided_at = models.DateTimeField(null=True, editable=False)

    noun = "tool_approval"
    objects = ToolApprovalQuerySet.as_manager()

    class Meta(Governed.Meta):
        ordering: ClassVar = ["-id"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["tenant", "conversation", "call_sha256"],
                condition=models.Q(status__in=["waiting", "approved"]),
                name="call_has_one_open_approval",
                violation_error_message="This call waits already.",
            ),
            models.CheckConstraint(
                condition=models.Q(status="waiting") | ~models.Q(decided_by=""), name="decided_call_names_who_decided"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.tool_name} ({self.get_status_display()})"

    @transition(field=status, source=Status.WAITING, target=Status.APPROVED)
    def approve(self) -> None:
        """It may be made, once."""

    @transition(field=status, source=[Status.WAITING, Status.APPROVED], target=Status.REFUSED)
    def refuse(self) -> None:
        """It is not made, also not where somebody had said yes and it has not begun."""

    @transition(field=status, source=Status.APPROVED, target=Status.CONSUMED)
    def spend(self) -> None:
        """It begins with the commit that says so, and never again."""
