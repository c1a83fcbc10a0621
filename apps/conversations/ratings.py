"""A customer's rating of a conversation: given once, after the end. People read it; it is never part of a prompt."""

from django.utils import timezone

from apps.conversations.models import Conversation
from apps.conversations.rules import COMMENT_CHARACTERS, RATINGS
from apps.governance.actors import Actor
from apps.governance.errors import Conflict, IllegalTransition, Invalid
from apps.governance.governed_write import governed
from apps.governance.policy.policy_table import Act


def rate_conversation(conversation: Conversation, *, actor: Actor, score: int, comment: str = "") -> Conversation:
    """Store the customer's rating. It does not change the outcome, which agents and people set."""
    if score not in RATINGS:
        raise Invalid("A rating is a number from 1 to 5; 5 is best.", {"score": ["From 1 to 5."]})
    if len(comment) > COMMENT_CHARACTERS:
        flaw = f"The comment has {len(comment)} characters; at most {COMMENT_CHARACTERS} are allowed. Shorten it."
        raise Invalid(flaw, {"comment": [flaw]})
    with governed(Act.CONVERSATION_RATE, conversation, actor=actor) as row:
        if row.status == Conversation.Status.OPEN:
            raise IllegalTransition(
                "This conversation has not ended. It can be rated once it was resolved or abandoned."
            )
        if row.rated_at is not None:
            raise Conflict("This conversation was rated already, and can be rated only once.")
        if comment and row.off_the_record:
            flaw = "This conversation is off the record, so no comment is kept. Send the score alone."
            raise Invalid(flaw, {"comment": [flaw]})
        row.rating, row.rating_comment, row.rated_at = score, comment, timezone.now()
    return conversation
