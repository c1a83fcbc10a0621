"""The comment: words about a proposal, by people for people."""

from typing import ClassVar, Self

from django.core.exceptions import ValidationError
from django.db import models
from django_fsm import transition

from apps.governance.models import Governed
from apps.governance.models.base import GovernedQuerySet, StateField
from apps.governance.stored_text import plain_text
from apps.review.comments.rules import flaw


class CommentQuerySet(GovernedQuerySet["Comment"]):
    """Adjectives for comments."""

    def about(self, proposal_id: int) -> Self:
        """Those on one proposal, the first said first."""
        return self.filter(proposal=proposal_id).order_by("pk")

    def standing(self) -> Self:
        """Those whose author has not withdrawn them."""
        return self.filter(status=Comment.Status.ACTIVE)


class Comment(Governed):
    """What one person said about a proposal. Its words never change; its author may withdraw them. No agent reads one."""

    class Status(models.TextChoices):
        """Withdrawn is final; who thinks again says it again."""

        ACTIVE = "active"
        WITHDRAWN = "withdrawn"

    # The database refuses the deletion itself; Django would look, where an agent that takes its proposal back may not.
    proposal = models.ForeignKey(
        "governance.Proposal", on_delete=models.DO_NOTHING, related_name="comments", editable=False
    )
    # Whose proposal it is; none where it is for the whole organisation.
    agent = models.ForeignKey("tenants.Agent", on_delete=models.PROTECT, related_name="+", null=True, editable=False)
    text = models.TextField("comment", validators=[plain_text], blank=True)
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
        """It says something, in so many characters."""
        if self.status == Comment.Status.ACTIVE and (found := flaw(self.text)):
            raise ValidationError({"text": found})

    @transition(field=status, source=Status.ACTIVE, target=Status.WITHDRAWN)
    def withdraw(self) -> None:
        """Its author takes it back: the words are gone from every page, and stay in the history of changes."""
