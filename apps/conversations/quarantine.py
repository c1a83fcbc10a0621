"""Quarantine of conversations: learning uses nothing of a quarantined conversation until a person releases it."""

from apps.conversations.inbound_messages import refuse_member_talk
from apps.conversations.models import Conversation
from apps.governance.actors import Actor
from apps.governance.governed_write import governed
from apps.governance.policy.policy_table import Act
from apps.governance.quarantine import put_in_quarantine, release_from_quarantine


def quarantine_conversation(
    conversation: Conversation, *, actor: Actor, reason: str, read_at: int | None = None
) -> Conversation:
    """Quarantine a conversation in any status: nothing is learned from it, and lessons and examples from it are not used.

    The agent goes on answering in an open conversation. What was learned from it before is quarantined row by row.
    """
    with governed(Act.CONVERSATION_QUARANTINE, conversation, actor=actor, read_at=read_at, reason=reason) as row:
        refuse_member_talk(row, "Nothing is learned from it.")
        put_in_quarantine(row, actor, reason)
    return conversation


def release_conversation(
    conversation: Conversation, *, actor: Actor, reason: str, read_at: int | None = None
) -> Conversation:
    """Release a conversation from quarantine, so that learning may use it again. Rows that came of it stay in quarantine."""
    with governed(Act.CONVERSATION_RELEASE, conversation, actor=actor, read_at=read_at, reason=reason) as row:
        release_from_quarantine(row, reason)
    return conversation
