"""Celery tasks of the review app. Each task makes a single call."""

from celery import shared_task

from apps.review.bulk.execution import decide_all_items
from apps.review.decisions import expire
from apps.tenants.due_work import due_work


@shared_task
def expire_proposal(tenant_id: int, proposal_id: int) -> None:
    """Expire one proposal."""
    expire(tenant_id, proposal_id)


@shared_task
def sweep() -> None:
    """Queue a task for every proposal whose time for a decision ran out."""
    for tenant_id, proposal_id in due_work("proposal_expiries"):
        expire_proposal.delay(tenant_id, proposal_id)


@shared_task
def decide_bulk(tenant_id: int, bulk_id: int) -> None:
    """Decide on the waiting items of one bulk decision."""
    decide_all_items(tenant_id, bulk_id)


@shared_task
def sweep_bulk() -> None:
    """Queue a task for every bulk decision with waiting items."""
    for tenant_id, bulk_id in due_work("bulk_decisions"):
        decide_bulk.delay(tenant_id, bulk_id)
