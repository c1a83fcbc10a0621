"""Governed writes on comments: people add comments and withdraw their own."""

from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import Conflict, NotPermitted
from apps.governance.governed_write import assign_values, governed
from apps.governance.models import Proposal
from apps.governance.policy.policy_table import Act
from apps.review.models import Comment
from apps.review.rules import ONLY_AUTHOR_WITHDRAWS, too_many_comments


def add_comment(proposal: Proposal, *, actor: Actor, text: str) -> Comment:
    """Add a comment for other reviewers. It affects neither the proposal nor the required approvals, and agents cannot see it."""
    comment = Comment(tenant_id=proposal.tenant_id, proposal=proposal, agent_id=proposal.agent_id, author=actor.label)
    with (
        acting_as(actor),
        governed(Act.COMMENT_ADD, comment, actor=actor, evidence={"proposal_id": proposal.pk}) as row,
    ):
        # Browsers send CRLF line ends.
        assign_values(row, Act.COMMENT_ADD, {"text": text.replace("\r\n", "\n").strip()})
        if refusal := too_many_comments(Comment.objects.visible_to(actor).about(proposal.pk).count()):
            raise Conflict(refusal)
    return comment


def withdraw_comment(comment: Comment, *, actor: Actor, read_at: int | None = None, reason: str = "") -> Comment:
    """Withdraw one's own comment. Readers still see that there was one; only the change history keeps its words."""
    with governed(Act.COMMENT_WITHDRAW, comment, actor=actor, read_at=read_at, reason=reason) as row:
        if row.author != actor.label:
            raise NotPermitted(ONLY_AUTHOR_WITHDRAWS)
        row.withdraw()
        row.text = ""
    return comment
