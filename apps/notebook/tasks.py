"""Celery tasks of the notebook. Each takes ids and makes one call."""

from celery import shared_task
from django.utils import timezone

from apps.notebook.scratch_expiry import drop_old_scratch
from apps.tenants.due_work import due_work


@shared_task
def drop_scratch(tenant_id: int, note_id: int) -> None:
    """Drop one scratch note that nobody changed for a long time."""
    drop_old_scratch(tenant_id, note_id, timezone.now())


@shared_task
def sweep() -> None:
    """Drop every scratch note that nobody changed for a long time."""
    for tenant_id, note_id in due_work("scratch_notes"):
        drop_scratch.delay(tenant_id, note_id)
