"""Alarm clocks of the runtime: ids in, one call."""

from celery import shared_task

from apps.runtime.backends import turn_backend, turn_backend_at
from apps.runtime.driving import answer
from apps.runtime.waking import wake


@shared_task(acks_late=False)
def take_turn(tenant_id: int, conversation_id: int, in_seconds: int = 0) -> None:
    """Have a conversation looked at: by this process's engine, or where none runs at once. A lost message costs one poll."""
    if not wake(tenant_id, conversation_id, in_seconds):
        answer(tenant_id, conversation_id, backend=turn_backend(), places=turn_backend_at)
