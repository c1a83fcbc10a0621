"""Erases the texts of off-the-record conversations that have ended or have been silent for a while, each in one commit (R178)."""

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

# A running turn is resumed from its steps, so the steps are erased after the turn has ended.
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
# The most conversations that one sweep erases before it begins turns.
ERASED_PER_SWEEP: Final = 10


def erase_due_conversations(due: Sequence[tuple[int, int]]) -> None:
    """Erase some of these conversations. A conversation that cannot be erased stays due and delays neither others nor turns.

    The choice is random, so that failing conversations do not fill every sweep and two workers seldom choose the same ones.
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
    """Erase a conversation if it is still due. A conversation that another worker has locked is left to that worker."""
    system = system_actor(tenant_id, "worker")
    with acting_as(system):
        rows = Conversation.objects.visible_to(system).select_for_update(skip_locked=True, no_key=True, of=("self",))
        conversation = rows.filter(pk=conversation_id).order_by("pk").first()
        if conversation is not None and execute_as(system, _DUE_QUERY, {"conversation": conversation_id}):
            erase_conversation(conversation)


def erase_conversation(conversation: Conversation) -> None:
    """Erase the transcript, the inbound events and the journal texts of a conversation together."""
    system = system_actor(conversation.tenant_id, "worker")
    with acting_as(system):
        erase_conversation_text(conversation, actor=system)
        for statement in (_ERASE_CALLS, _ERASE_STEPS):
            execute_as(system, statement, {"conversation": conversation.pk})
    logger.info("off-the-record conversation erased", extra={"conversation_id": conversation.pk})
