"""What a conversation takes no more, or never: because it ended, somebody holds it or runs it, or a member talks in it."""

from apps.conversations.models import Conversation
from apps.governance.actors import Actor, Role
from apps.governance.errors import Conflicting, IllegalTransition, NotPermitted


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


def refuse_other_runner(conversation: Conversation, has_external_agent: bool | None) -> None:
    """A conversation has one runner from its beginning to its end: ours, or whoever opened it as their own."""
    if has_external_agent is None or conversation.has_external_agent == has_external_agent:
        return
    raise Conflicting(
        "The agent of this conversation runs elsewhere, so nobody here would answer. Hand the message in at sessions/, or use"
        " another conversation key."
        if conversation.has_external_agent
        else "Preceptor answers in this conversation itself. Send the message to messages/, or use another conversation key."
    )
