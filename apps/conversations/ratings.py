"""What a customer thought of a conversation: said once, when it has ended, for people to read and for no prompt."""

from django.utils import timezone

from apps.conversations.models import Conversation
from apps.conversations.rules import COMMENT_CHARACTERS, RATINGS
from apps.governance.actors import Actor
from apps.governance.errors import Conflict, IllegalTransition, Invalid
from apps.governance.governed_write import governed
from apps.governance.policy.policy_table import Act


def rate_conversation(conversation: Conversation, *, actor: Actor, score: int, comment: str = "") -> Conversation:
    """Keep the customer's word. It changes no outcome: what was solved is for the agent and for people to say."""
    if score not in RATINGS:
        raise Invalid("A rating is a number from 1 to 5; 5 is best.", {"score": ["From 1 to 5."]})
    if len(comment) > COMMENT_CHARACTERS:
        flaw = f"The comment has {len(comment)} characters; at most {COMMENT_CHARACTERS} are taken. Shorten it."
        raise Invalid(flaw, {"comment": [flaw]})
    with governed(Act.CONVERSATION_RATE, conversation, actor=actor) as row:
        if row.status == Conversation.Status.OPEN:
            raise IllegalTransition("This conversation goes on. It is rated once it was resolved or abandoned.")
        if row.rated_at is not None:
            raise Conflict("This conversation was rated already, and a rating is given once.")
        if comment and row.off_the_record:
            flaw = "No words are kept of a conversation off the record. Send the score alone."
            raise Invalid(flaw, {"comment": [flaw]})
        row.rating, row.rating_comment, row.rated_at = score, comment, timezone.now()
    return conversation
