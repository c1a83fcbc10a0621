"""The wake-up call to a worker. If the call is lost, the message is answered after the next sweep."""

import logging
from functools import partial

from django.db import transaction

from config.task_publishing import publish_task

logger = logging.getLogger(__name__)


def wake_worker_on_commit(tenant_id: int, conversation_id: int, in_seconds: int = 0) -> None:
    """Wake a worker for a conversation after the transaction commits. The worker checks the conversation after `in_seconds`."""
    transaction.on_commit(partial(_send_task, tenant_id, conversation_id, in_seconds))


def _send_task(tenant_id: int, conversation_id: int, in_seconds: int) -> None:
    if not publish_task("apps.runtime.tasks.take_turn", tenant_id, conversation_id, in_seconds):
        logger.warning("broker unreachable, the sweep will deliver", extra={"conversation_id": conversation_id})
