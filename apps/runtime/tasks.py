"""Alarm clocks of the runtime: ids in, one call."""

from celery import shared_task

from apps.runtime.contradiction_scan import run_scheduled_scan
from apps.runtime.tools.delegation_answers import notify_of_pause
from apps.runtime.tools.tool_server_refresh import refresh_if_due
from apps.runtime.worker.model_backends import turn_backend, turn_backend_at
from apps.runtime.worker.process import wake
from apps.runtime.worker.sync_driver import answer_conversation
from apps.tenants.due_work import due_work


@shared_task(acks_late=False)
def take_turn(tenant_id: int, conversation_id: int, in_seconds: int = 0) -> None:
    """Have a conversation looked at: by this process's engine, or where none runs at once. A lost message costs one poll."""
    if not wake(tenant_id, conversation_id, in_seconds):
        answer_conversation(tenant_id, conversation_id, backend=turn_backend(), places=turn_backend_at)


@shared_task
def refresh_listing(tenant_id: int, server_id: int) -> None:
    """Ask one tool server what it offers."""
    refresh_if_due(tenant_id, server_id)


@shared_task
def sweep_listings() -> None:
    """Ask every tool server whose listing has grown old."""
    for tenant_id, server_id in due_work("tool_listings"):
        refresh_listing.delay(tenant_id, server_id)


@shared_task
def look_for_contradictions(tenant_id: int, agent_id: int) -> None:
    """Look at what one agent goes by."""
    run_scheduled_scan(tenant_id, agent_id)


@shared_task
def sweep_contradictions() -> None:
    """Look at what every agent goes by, once it is three in the morning there or a person asked."""
    for tenant_id, agent_id in due_work("contradiction_scans"):
        look_for_contradictions.delay(tenant_id, agent_id)


@shared_task
def tell_who_asked(tenant_id: int, conversation_id: int) -> None:
    """Tell the agent that waits for an answer that nobody gives one for now."""
    notify_of_pause(tenant_id, conversation_id)


@shared_task
def sweep_paused_delegations() -> None:
    """Tell whoever asked an agent that was paused since."""
    for tenant_id, conversation_id in due_work("paused_delegations"):
        tell_who_asked.delay(tenant_id, conversation_id)
