"""Alarm clocks of the API: ids in, one call."""

from celery import shared_task

from apps.api.protocol.idempotency import delete_expired
from apps.tenants.due_work import due_work


@shared_task
def forget_answers(tenant_id: int) -> None:
    """Forget the answers of one tenant that were kept long enough."""
    delete_expired(tenant_id)


@shared_task
def sweep_answers() -> None:
    """Forget the answers of every tenant that were kept long enough."""
    for tenant_id, _ in due_work("idempotency_records"):
        forget_answers.delay(tenant_id)
