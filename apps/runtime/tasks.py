"""Celery tasks of the runtime. Each takes ids and makes one call."""

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
    """Wake this process's engine for a conversation. If no engine runs, answer within the task.

    A lost task delays the answer by one poll interval.
    """
    if not wake(tenant_id, conversation_id, in_seconds):
        answer_conversation(tenant_id, conversation_id, backend=turn_backend(), places=turn_backend_at)


@shared_task
def refresh_listing(tenant_id: int, server_id: int) -> None:
    """Read the tool list of one tool server."""
    refresh_if_due(tenant_id, server_id)


@shared_task
def sweep_listings() -> None:
    """Read the tool list of every tool server whose list is out of date."""
    for tenant_id, server_id in due_work("tool_listings"):
        refresh_listing.delay(tenant_id, server_id)


@shared_task
def look_for_contradictions(tenant_id: int, agent_id: int) -> None:
    """Scan the texts that one agent follows for contradictions."""
    run_scheduled_scan(tenant_id, agent_id)


@shared_task
def sweep_contradictions() -> None:
    """Scan every agent that is due: after 3 a.m. in its tenant's time zone, or at a person's request."""
    for tenant_id, agent_id in due_work("contradiction_scans"):
        look_for_contradictions.delay(tenant_id, agent_id)


@shared_task
def tell_who_asked(tenant_id: int, conversation_id: int) -> None:
    """Notify the delegating agent that the agent it asked is paused."""
    notify_of_pause(tenant_id, conversation_id)


@shared_task
def sweep_paused_delegations() -> None:
    """Notify every delegating agent that waits for an answer from a paused agent."""
    for tenant_id, conversation_id in due_work("paused_delegations"):
        tell_who_asked.delay(tenant_id, conversation_id)
