"""What was said off the record is not kept: its words go, and that there was a conversation stays (R178)."""

from typing import Final

from apps.conversations.models import Conversation
from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import execute_as
from apps.governance.errors import Conflict
from apps.governance.governed_write import governed
from apps.governance.policy.policy_table import Act

# What waits for a turn, or is answered by one that runs, is needed still.
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
# By the clock that says when turns end, and from before anything is taken out: what is said meanwhile is later.
_NOW_QUERY: Final = "SELECT statement_timestamp()"


def erase_conversation_text(conversation: Conversation, *, actor: Actor) -> Conversation:
    """Take the words out of a conversation off the record; it goes on, if it does, without remembering them."""
    with governed(Act.CONVERSATION_ERASE, conversation, actor=actor) as row:
        if not row.off_the_record:
            raise Conflict("This conversation is on the record, so its words are kept.")
        [(row.erased_at,)] = execute_as(actor, _NOW_QUERY, {})
        given = {"conversation": row.pk, "has_ended": row.status != Conversation.Status.OPEN}
        for statement in (_ERASE_EVENTS, _ERASE_MESSAGES):
            execute_as(actor, statement, given)
    return conversation
