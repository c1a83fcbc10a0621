"""Off the record: a conversation that has ended, or that nobody wrote in for a while, loses its words, in one commit (R178)."""

import logging
from collections.abc import Iterable
from typing import Final

from apps.conversations.forgetting import forget_conversation
from apps.conversations.models import Conversation
from apps.governance.acting import acting, one_shot
from apps.governance.errors import GovernanceError
from apps.tenants.identity import system_actor

logger = logging.getLogger(__name__)

# A turn that runs is resumed from its steps; they go when it has ended.
_CALLS: Final = """
UPDATE runtime_modelcall AS call SET asked = NULL, said = NULL, text = '' FROM runtime_turn AS turn
 WHERE turn.tenant_id = app_tenant() AND turn.conversation_id = %(conversation)s AND turn.status <> 'running'
   AND call.tenant_id = turn.tenant_id AND call.turn_id = turn.id
RETURNING call.id
"""
_STEPS: Final = """
UPDATE runtime_toolstep AS tool SET arguments = '{}', result = '' FROM runtime_turn AS turn
 WHERE turn.tenant_id = app_tenant() AND turn.conversation_id = %(conversation)s AND turn.status <> 'running'
   AND tool.tenant_id = turn.tenant_id AND tool.turn_id = turn.id AND tool.state <> 'begun'
RETURNING tool.id
"""


def forget_all(due: Iterable[tuple[int, int]]) -> None:
    """Forget these conversations. One that cannot be is due still, and keeps no other from being forgotten."""
    for tenant_id, conversation_id in due:
        try:
            forget(tenant_id, conversation_id)
        except GovernanceError as refusal:
            logger.error("not forgotten", extra={"conversation_id": conversation_id, "code": refusal.code})


def forget(tenant_id: int, conversation_id: int) -> None:
    """Transcript, what arrived, and what the journal kept of its turns, together."""
    system = system_actor(tenant_id, "worker")
    with acting(system):
        conversation = Conversation.objects.visible_to(system).get(pk=conversation_id)
        forget_conversation(conversation, actor=system)
        for statement in (_CALLS, _STEPS):
            one_shot(system, statement, {"conversation": conversation_id})
    logger.info("forgotten", extra={"conversation_id": conversation_id})
