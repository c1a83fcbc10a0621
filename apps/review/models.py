"""The journal of decisions taken together: who said what of which proposals, and what became of each."""

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models.functions import Now

from apps.governance.models import Proposal
from apps.review.comments.models import Comment
from apps.review.filters.models import SavedFilter

# Django looks for an app's models here.
__all__ = ["BulkDecision", "BulkItem", "Comment", "SavedFilter"]


class BulkDecision(models.Model):
    """One person's same word on many proposals of a kind. Append-only; each proposal keeps its own change record."""

    class Verb(models.TextChoices):
        """What is said of all of them."""

        APPROVE = "approve"
        REJECT = "reject"

    tenant = models.ForeignKey("tenants.Tenant", db_index=False, on_delete=models.PROTECT, related_name="+")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, db_index=False, on_delete=models.PROTECT, related_name="+")
    verb = models.CharField(max_length=10, choices=Verb.choices)
    kind = models.CharField(max_length=30, choices=Proposal.Kind.choices)
    reason = models.TextField(db_default="")
    reason_code = models.CharField(max_length=20, choices=Proposal.Reason.choices, db_default="")
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering: ClassVar = ["-id"]
        indexes: ClassVar = [models.Index(fields=["tenant", "user", "id"], name="bulk_decision_of_person")]

    def __str__(self) -> str:
        return f"Bulk decision {self.pk}"


class BulkItem(models.Model):
    """One of its proposals, as the person read it, and what became of it. It is decided once."""

    class State(models.TextChoices):
        """Refused is final too: a person decides on it by hand."""

        WAITING = "waiting"
        DONE = "done"
        REFUSED = "refused"

    tenant = models.ForeignKey("tenants.Tenant", db_index=False, on_delete=models.PROTECT, related_name="+")
    decision = models.ForeignKey(BulkDecision, db_index=False, on_delete=models.PROTECT, related_name="items")
    # A number and no reference: an agent may take its proposal back meanwhile.
    proposal_id = models.BigIntegerField()
    read_version = models.PositiveIntegerField(help_text="The version of the proposal that the person read.")
    state = models.CharField(max_length=10, choices=State.choices, db_default=State.WAITING)
    refusal = models.TextField(db_default="")
    decided_at = models.DateTimeField(null=True)

    class Meta:
        ordering: ClassVar = ["id"]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["tenant", "decision", "proposal_id"], name="proposal_is_in_a_bulk_decision_once"
            ),
            models.CheckConstraint(
                condition=models.Q(state="refused") & ~models.Q(refusal="")
                | ~models.Q(state="refused") & models.Q(refusal=""),
                name="refused_bulk_item_says_why",
            ),
            models.CheckConstraint(
                condition=models.Q(state="waiting", decided_at=None)
                | ~models.Q(state="waiting") & models.Q(decided_at__isnull=False),
                name="decided_bulk_item_says_when",
            ),
        ]
        indexes: ClassVar = [
            models.Index(
                fields=["tenant", "decision", "id"], condition=models.Q(state="waiting"), name="bulk_item_waits"
            )
        ]

    def __str__(self) -> str:
        return f"Proposal {self.proposal_id} in bulk decision {self.decision_id}"
