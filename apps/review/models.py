"""Models of review: bulk decisions with their items, comments on proposals, and saved inbox filters.

A bulk decision records a person's decision on several proposals, and the result for each. People write comments for people. A
saved filter is a named search of the inbox.
"""

from typing import ClassVar, Self

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models.functions import Now
from django_fsm import transition

from apps.governance.actors import PEOPLE, Actor, Role
from apps.governance.models import Governed, Proposal
from apps.governance.models.base import GovernedQuerySet, StateField
from apps.governance.stored_text import validate_storable_text
from apps.review.rules import FILTERS_KEPT, NAME_CHARACTERS, QUERY_CHARACTERS, comment_flaw


class CommentQuerySet(GovernedQuerySet["Comment"]):
    """Filters for comments."""

    def about(self, proposal_id: int) -> Self:
        """Return the comments on one proposal, oldest first."""
        return self.filter(proposal=proposal_id).order_by("pk")

    def standing(self) -> Self:
        """Return the comments that were not withdrawn."""
        return self.filter(status=Comment.Status.ACTIVE)


class Comment(Governed):
    """A person's comment on a proposal. Its text never changes, but its author may withdraw it. Agents cannot read comments."""

    class Status(models.TextChoices):
        """The state of a comment. Withdrawn is final."""

        ACTIVE = "active"
        WITHDRAWN = "withdrawn"

    # The database refuses the deletion. Django's own check would read comments, which an agent that withdraws its proposal may
    # not.
    proposal = models.ForeignKey(
        "governance.Proposal", on_delete=models.DO_NOTHING, related_name="comments", editable=False
    )
    # The proposal's agent; null if the proposal is for the whole organisation.
    agent = models.ForeignKey("tenants.Agent", on_delete=models.PROTECT, related_name="+", null=True, editable=False)
    text = models.TextField("comment", validators=[validate_storable_text], blank=True)
    status = StateField(max_length=10, choices=Status.choices, default=Status.ACTIVE)
    author = models.CharField(max_length=200, editable=False)

    noun = "comment"
    objects = CommentQuerySet.as_manager()

    class Meta(Governed.Meta):
        ordering: ClassVar = ["-id"]
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=models.Q(status="active") & ~models.Q(text="") | models.Q(status="withdrawn", text=""),
                name="comment_has_text_until_it_is_withdrawn",
            ),
            models.CheckConstraint(condition=~models.Q(author=""), name="comment_names_its_author"),
        ]
        indexes: ClassVar = [
            models.Index(fields=["tenant", "proposal", "id"], name="comment_by_proposal"),
            models.Index(fields=["tenant", "status", "id"], name="comment_by_status"),
        ]

    def __str__(self) -> str:
        return f"Comment on proposal {self.proposal_id}"

    def clean(self) -> None:
        """Refuse a comment that is blank or too long."""
        if self.status == Comment.Status.ACTIVE and (found := comment_flaw(self.text)):
            raise ValidationError({"text": found})

    @transition(field=status, source=Status.ACTIVE, target=Status.WITHDRAWN)
    def withdraw(self) -> None:
        """Mark the comment as withdrawn. Its words disappear from every page, and only the change history keeps them."""


READERS = PEOPLE | {Role.STAFF}


class SavedFilterQuerySet(models.QuerySet["SavedFilter"]):
    """Filters for saved filters of the inbox."""

    def visible_to(self, actor: Actor) -> Self:
        """Return a person's own filters and the filters that the tenant's members share; none for agents and workers."""
        if actor.role not in READERS:
            return self.none()
        seen = models.Q(user_id=actor.user_id) | models.Q(is_shared=True)
        return self.filter(seen, tenant_id=actor.tenant_id)

    def own(self, actor: Actor) -> Self:
        """Return the filters that this person saved."""
        return self.filter(tenant_id=actor.tenant_id, user_id=actor.user_id)


class SavedFilter(models.Model):
    """An inbox search that a person saved under a name. It can be deleted but not changed."""

    tenant = models.ForeignKey("tenants.Tenant", db_index=False, on_delete=models.PROTECT, related_name="+")
    user = models.ForeignKey("tenants.User", on_delete=models.PROTECT, related_name="+")
    quota_slot = models.PositiveSmallIntegerField(
        help_text="Each filter of a person takes one slot, which limits their number."
    )
    name = models.CharField(max_length=NAME_CHARACTERS)
    query = models.CharField(
        max_length=QUERY_CHARACTERS, help_text="The query string of the inbox's URL, without the question mark."
    )
    is_shared = models.BooleanField()
    created_at = models.DateTimeField(db_default=Now())

    objects = SavedFilterQuerySet.as_manager()

    class Meta:
        ordering: ClassVar = ["name", "id"]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["tenant", "user", "name"], name="person_names_a_filter_once"),
            models.UniqueConstraint(fields=["tenant", "user", "quota_slot"], name="person_uses_a_quota_slot_once"),
            models.CheckConstraint(
                condition=models.Q(quota_slot__gte=1, quota_slot__lte=FILTERS_KEPT),
                name="quota_slot_is_within_the_limit",
            ),
            models.CheckConstraint(
                condition=~models.Q(name="") & ~models.Q(query=""), name="saved_filter_has_a_name_and_a_query"
            ),
            models.CheckConstraint(condition=~models.Q(query__regex=r"(^|&)p="), name="saved_filter_names_no_page"),
        ]
        indexes: ClassVar = [
            models.Index(fields=["tenant"], condition=models.Q(is_shared=True), name="shared_filter_of_tenant")
        ]

    def __str__(self) -> str:
        return self.name


# Django looks for an app's models in this module.
__all__ = ["BulkDecision", "BulkItem", "Comment", "SavedFilter"]


class BulkDecision(models.Model):
    """One person's decision on many proposals. Append-only; each proposal keeps its own change record."""

    class Verb(models.TextChoices):
        """The decision that applies to all of the proposals."""

        APPROVE = "approve"
        REJECT = "reject"
        REBASE = "rebase"

    tenant = models.ForeignKey("tenants.Tenant", db_index=False, on_delete=models.PROTECT, related_name="+")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, db_index=False, on_delete=models.PROTECT, related_name="+")
    verb = models.CharField(max_length=10, choices=Verb.choices)
    kind = models.CharField(
        max_length=30, choices=Proposal.Kind.choices, blank=True, help_text="Empty if they are of several kinds."
    )
    reason = models.TextField(db_default="")
    reason_code = models.CharField(max_length=20, choices=Proposal.Reason.choices, db_default="")
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        ordering: ClassVar = ["-id"]
        indexes: ClassVar = [models.Index(fields=["tenant", "user", "id"], name="bulk_decision_of_person")]

    def __str__(self) -> str:
        return f"Bulk decision {self.pk}"


class BulkItem(models.Model):
    """One proposal of a bulk decision, with the version that the person read, and the result. It is decided once."""

    class State(models.TextChoices):
        """The state of an item. Done and refused are final; a person decides on a refused proposal individually."""

        WAITING = "waiting"
        DONE = "done"
        REFUSED = "refused"

    tenant = models.ForeignKey("tenants.Tenant", db_index=False, on_delete=models.PROTECT, related_name="+")
    decision = models.ForeignKey(BulkDecision, db_index=False, on_delete=models.PROTECT, related_name="items")
    # Not a foreign key, because an agent may withdraw its proposal meanwhile.
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
