"""How acts are tried on comments."""

from collections.abc import Mapping

from apps.governance.models import Proposal
from apps.governance.policy.policy_table import Act
from apps.review.comment_actions import add_comment, withdraw_comment
from apps.review.models import Comment
from tests.random_acts.act_choice import ActChoice, ActRunner, amend_row


def _add(chosen: ActChoice) -> object:
    return add_comment(chosen.row(Proposal), actor=chosen.actor, text=chosen.words[:400])


COMMENTS: Mapping[Act, ActRunner] = {
    Act.COMMENT_ADD: _add,
    Act.COMMENT_WITHDRAW: amend_row(Comment, withdraw_comment),
}
