"""Lawful comments, and how each surface performs the acts on them."""

from collections.abc import Callable, Mapping
from typing import Any

from django.urls import reverse

from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.models import Proposal
from apps.governance.policy.policy_table import Act
from apps.review.comment_actions import add_comment, withdraw_comment
from apps.review.models import Comment
from apps.skills.proposals import propose_revision
from tests.support.worlds.world import World, make_skill


def make_proposal(world: World) -> Proposal:
    """Make a proposal to comment on."""
    return propose_revision(make_skill(world, "approved"), actor=world.bot, values={"body": "Better."})


def make_comment(world: World, text: str = "Ask finance first.", *, on: Proposal | None = None) -> Comment:
    """Make a comment of an operator, on the latest waiting proposal unless one is named."""
    return add_comment(on or _first_open_proposal(world) or make_proposal(world), actor=world.operator, text=text)


def _first_open_proposal(world: World) -> Proposal | None:
    with acting_as(world.operator):
        return Proposal.objects.visible_to(world.operator).open().first()


def comment_in(world: World, state: str) -> Comment:
    """Return a comment in this state."""
    comment = make_comment(world)
    return withdraw_comment(comment, actor=world.operator) if state == Comment.Status.WITHDRAWN else comment


COMMENT_SUBJECTS: Mapping[Act, Callable[[World], Any]] = {
    Act.COMMENT_ADD: make_proposal,
    Act.COMMENT_WITHDRAW: make_comment,
}
# Each takes the scene, the row and, for actions, the actor.
COMMENT_ACTS: Mapping[Act, Callable[[Any, Any, Actor], object]] = {
    Act.COMMENT_ADD: lambda _, row, actor: add_comment(row, actor=actor, text="Ask finance first."),
    Act.COMMENT_WITHDRAW: lambda _, row, actor: withdraw_comment(row, actor=actor),
}
COMMENT_REQUESTS: Mapping[Act, Callable[[Any, Any], tuple[str, str, dict[str, object] | None]]] = {
    Act.COMMENT_ADD: lambda _, row: ("POST", "comments", {"proposal_id": row.pk, "text": "Ask finance first."}),
    Act.COMMENT_WITHDRAW: lambda _, row: ("POST", f"comments/{row.pk}/withdraw", {}),
}
COMMENT_FORMS: Mapping[Act, Callable[[Any, Any], tuple[str, dict[str, Any]]]] = {
    Act.COMMENT_ADD: lambda _, row: (
        reverse("admin:governance_proposal_decide", args=[row.pk, "comment"]),
        {"read_at": row.version, "text": "Ask finance first."},
    ),
    Act.COMMENT_WITHDRAW: lambda _, row: (
        reverse("admin:review_comment_decide", args=[row.pk, "withdraw"]),
        {"read_at": row.version},
    ),
}
