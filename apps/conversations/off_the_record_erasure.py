"""Erases the texts of off-the-record conversations. The conversation's row stays (R178)."""

from typing import Final

from apps.conversations.models import Conversation
from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import execute_as
from apps.governance.errors import Conflict
from apps.governance.governed_write import governed
from apps.governance.policy.policy_table import Act

# Events that are pending, or that a running turn answers, are still needed.
_ERASE_EVENTS: Final = """
UPDATE conversations_inboundevent AS event SET text = '', text_sha256 = '', sender_name = ''
 WHERE event.tenant_id = app_tenant() AND event.conversation_id = %(conversation)s AND event.text <> ''
   AND (%(has_ended)s OR EXISTS (
       SELECT 1 FROM runtime_turn AS turn WHERE turn.tenant_id = event.tenant_id AND turn.id = event.turn_id
          AND turn.status <> 'running'))
RETURNING event.id
"""
_ERASE_MESSAGES: Final = """
UPDATE conversations_message SET text = '', tool_calls = '[]', api_message = NULL
 WHERE tenant_id = app_tenant() AND conversation_id = %(conversation)s
RETURNING id
"""
# Read before anything is erased, by the same clock as the end of turns, so that texts written meanwhile count as newer.
_NOW_QUERY: Final = "SELECT statement_timestamp()"


def erase_conversation_text(conversation: Conversation, *, actor: Actor) -> Conversation:
    """Erase the texts of an off-the-record conversation. The conversation may continue without them."""
    with governed(Act.CONVERSATION_ERASE, conversation, actor=actor) as row:
        if not row.off_the_record:
            raise Conflict("This conversation is on the record, so its texts are kept.")
        [(row.erased_at,)] = execute_as(actor, _NOW_QUERY, {})
        given = {"conversation": row.pk, "has_ended": row.status != Conversation.Status.OPEN}
        for statement in (_ERASE_EVENTS, _ERASE_MESSAGES):
            execute_as(actor, statement, given)
    return conversation
