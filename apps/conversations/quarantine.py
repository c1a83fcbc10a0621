"""Quarantine of conversations: learning uses nothing of a quarantined conversation until a person releases it."""

from django.utils import timezone

from apps.conversations.inbound_messages import refuse_member_talk
from apps.conversations.models import Conversation
from apps.governance.actors import Actor
from apps.governance.errors import Conflict, refuse_blank
from apps.governance.governed_write import governed
from apps.governance.policy.policy_table import Act


def quarantine_conversation(
    conversation: Conversation, *, actor: Actor, reason: str, read_at: int | None = None
) -> Conversation:
    """Quarantine a conversation in any status: nothing is learned from it, and lessons and examples from it are not used.

    The agent goes on answering in an open conversation. What was learned from it before is quarantined row by row.
    """
    with governed(Act.CONVERSATION_QUARANTINE, conversation, actor=actor, read_at=read_at, reason=reason) as row:
        refuse_blank(
            reason, "Give a reason for the quarantine. The person who releases the conversation has to know it."
        )
        refuse_member_talk(row, "Nothing is learned from it.")
        if row.is_quarantined:
            raise Conflict(f"This conversation is in quarantine already: {row.quarantine_reason}")
        row.quarantined_at, row.quarantined_by, row.quarantine_reason = timezone.now(), actor.label, reason
    return conversation


def release_conversation(
    conversation: Conversation, *, actor: Actor, reason: str, read_at: int | None = None
) -> Conversation:
    """Release a conversation from quarantine, so that learning may use it again. Rows that came of it stay in quarantine."""
    with governed(Act.CONVERSATION_RELEASE, conversation, actor=actor, read_at=read_at, reason=reason) as row:
        refuse_blank(reason, "Give a reason for the release.")
        if not row.is_quarantined:
            raise Conflict("This conversation is not in quarantine.")
        row.quarantined_at, row.quarantined_by, row.quarantine_reason = None, "", ""
    return conversation
