"""Alarm clocks of the runtime: ids in, one call."""

from celery import shared_task

from apps.runtime.backends import turn_backend
from apps.runtime.kick import kick_turn
from apps.runtime.turn import answer
from apps.tenants.due import due_work


@shared_task
def take_turn(tenant_id: int, conversation_id: int) -> None:
    """Answer what waits in a conversation; nothing to do is a normal outcome."""
    answer(tenant_id, conversation_id, backend=turn_backend())


@shared_task
def sweep() -> None:
    """Wake workers for what a lost message or a dead worker left behind."""
    for tenant_id, conversation_id in due_work("turn"):
        kick_turn(tenant_id, conversation_id)
