"""Alarm clocks of the learning: ids in, one call."""

from celery import shared_task

from apps.learning.extraction import extract, learning_backend
from apps.tenants.due import due_work
from apps.tenants.identity import system_actor


@shared_task
def extract_skill(tenant_id: int, conversation_id: int) -> None:
    """Look at one resolved conversation; the tenant comes with the id, never from the worker (R116)."""
    extract(conversation_id, actor=system_actor(tenant_id, "extractor"), backend=learning_backend())


@shared_task
def sweep() -> None:
    """Look at every resolved conversation that has no verdict yet."""
    for tenant_id, conversation_id in due_work("extraction"):
        extract_skill.delay(tenant_id, conversation_id)
