"""Celery tasks of the API; each takes ids and makes one call."""

from celery import shared_task

from apps.api.protocol.idempotency import delete_expired
from apps.tenants.due_work import due_work


@shared_task
def forget_answers(tenant_id: int) -> None:
    """Delete the expired responses of one tenant."""
    delete_expired(tenant_id)


@shared_task
def sweep_answers() -> None:
    """Delete the expired responses of every tenant."""
    for tenant_id, _ in due_work("idempotency_records"):
        forget_answers.delay(tenant_id)
