"""Acts on comments: people add them, and withdraw their own."""

from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import Conflict, NotPermitted
from apps.governance.governed_write import assign_values, governed
from apps.governance.models import Proposal
from apps.governance.policy.policy_table import Act
from apps.review.models import Comment
from apps.review.rules import ONLY_AUTHOR_WITHDRAWS, too_many_comments


def add_comment(proposal: Proposal, *, actor: Actor, text: str) -> Comment:
    """Say something to whoever else decides. It changes nothing of the proposal, nor of who has to agree; no agent is told."""
    comment = Comment(tenant_id=proposal.tenant_id, proposal=proposal, agent_id=proposal.agent_id, author=actor.label)
    with (
        acting_as(actor),
        governed(Act.COMMENT_ADD, comment, actor=actor, evidence={"proposal_id": proposal.pk}) as row,
    ):
        # A browser sends other line ends than it was given.
        assign_values(row, Act.COMMENT_ADD, {"text": text.replace("\r\n", "\n").strip()})
        if refusal := too_many_comments(Comment.objects.visible_to(actor).about(proposal.pk).count()):
            raise Conflict(refusal)
    return comment


def withdraw_comment(comment: Comment, *, actor: Actor, read_at: int | None = None, reason: str = "") -> Comment:
    """Take one's own comment back. That it was there stays to be seen; its words stay in the history of changes alone."""
    with governed(Act.COMMENT_WITHDRAW, comment, actor=actor, read_at=read_at, reason=reason) as row:
        if row.author != actor.label:
            raise NotPermitted(ONLY_AUTHOR_WITHDRAWS)
        row.withdraw()
        row.text = ""
    return comment
