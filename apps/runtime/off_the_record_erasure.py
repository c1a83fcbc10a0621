"""Off the record: a conversation that has ended, or that nobody wrote in for a while, loses its words, in one commit (R178)."""

import logging
import random
from collections.abc import Sequence
from typing import Final

from django.db import DatabaseError

from apps.conversations.models import Conversation
from apps.conversations.off_the_record_erasure import erase_conversation_text
from apps.governance.database.actor_transaction import acting_as, execute_as
from apps.governance.errors import GovernanceError
from apps.tenants.authentication.actor_resolution import system_actor

logger = logging.getLogger(__name__)

# A turn that runs is resumed from its steps; they go when it has ended.
_ERASE_CALLS: Final = """
UPDATE runtime_modelcall AS call SET user_turn = NULL, assistant_message = NULL, text = '' FROM runtime_turn AS turn
 WHERE turn.tenant_id = app_tenant() AND turn.conversation_id = %(conversation)s AND turn.status <> 'running'
   AND call.tenant_id = turn.tenant_id AND call.turn_id = turn.id
RETURNING call.id
"""
_ERASE_STEPS: Final = """
UPDATE runtime_toolstep AS tool SET arguments = '{}', result = '' FROM runtime_turn AS turn
 WHERE turn.tenant_id = app_tenant() AND turn.conversation_id = %(conversation)s AND turn.status <> 'running'
   AND tool.tenant_id = turn.tenant_id AND tool.turn_id = turn.id AND tool.state <> 'started'
RETURNING tool.id
"""
_DUE_QUERY: Final = "SELECT due_at FROM find_due_erasure(app_tenant(), %(conversation)s)"
# Of one look for what is due, before turns are begun.
ERASED_PER_SWEEP: Final = 10


def erase_due_conversations(due: Sequence[tuple[int, int]]) -> None:
    """Forget a few of these. One that cannot be forgotten is due still, and keeps neither others nor a turn from their time.

    They are drawn: those that fail again and again are not the same few each time, and two workers seldom meet.
    """
    for tenant_id, conversation_id in random.sample(due, min(len(due), ERASED_PER_SWEEP)):
        noted = {"conversation_id": conversation_id}
        try:
            erase_if_due(tenant_id, conversation_id)
        except GovernanceError as refusal:
            logger.error("off-the-record erasure failed", extra={**noted, "code": refusal.code})
        except DatabaseError as error:
            logger.error("off-the-record erasure failed", extra={**noted, "error": type(error).__name__})


def erase_if_due(tenant_id: int, conversation_id: int) -> None:
    """Forget a conversation that is due when nobody else can write there any more; one that another worker has is left to it."""
    system = system_actor(tenant_id, "worker")
    with acting_as(system):
        rows = Conversation.objects.visible_to(system).select_for_update(skip_locked=True, no_key=True, of=("self",))
        conversation = rows.filter(pk=conversation_id).order_by("pk").first()
        if conversation is not None and execute_as(system, _DUE_QUERY, {"conversation": conversation_id}):
            erase_conversation(conversation)


def erase_conversation(conversation: Conversation) -> None:
    """Transcript, what arrived, and what the journal kept of its turns, together."""
    system = system_actor(conversation.tenant_id, "worker")
    with acting_as(system):
        erase_conversation_text(conversation, actor=system)
        for statement in (_ERASE_CALLS, _ERASE_STEPS):
            execute_as(system, statement, {"conversation": conversation.pk})
    logger.info("off-the-record conversation erased", extra={"conversation_id": conversation.pk})
