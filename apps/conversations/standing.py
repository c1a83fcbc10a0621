"""What a conversation takes no more, or never: because it ended, somebody holds it, or a member talks there with an assistant."""

from apps.conversations.models import Conversation
from apps.governance.actors import Actor, Role
from apps.governance.errors import IllegalTransition, NotPermitted


def refuse_ended(conversation: Conversation) -> None:
    """Nobody writes in what has ended."""
    if conversation.status != Conversation.Status.OPEN:
        said = f"This conversation is {conversation.status}; nobody writes in it any more."
        raise IllegalTransition(f"{said} A later message of the customer opens another.")


def refuse_held(conversation: Conversation, actor: Actor) -> None:
    """What a person has in hand an agent does not end."""
    if conversation.is_held and actor.role is Role.AGENT:
        raise NotPermitted("A colleague has this conversation in hand and ends it. Wait until it is handed back.")


def refuse_talk(conversation: Conversation, why: str) -> None:
    """Refuse what is done with customers' conversations alone."""
    if conversation.is_talk:
        raise IllegalTransition(f"This is a member's talk with an assistant, not a customer's conversation. {why}")
