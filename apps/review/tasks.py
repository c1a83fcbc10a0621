"""Alarm clocks of reviews: ids in, one call."""

from celery import shared_task

from apps.review.bulk.execution import decide_all_items
from apps.review.decisions import expire
from apps.tenants.due_work import due_work


@shared_task
def expire_proposal(tenant_id: int, proposal_id: int) -> None:
    """Close one proposal that ran out of time."""
    expire(tenant_id, proposal_id)


@shared_task
def sweep() -> None:
    """Close every proposal whose time is over."""
    for tenant_id, proposal_id in due_work("proposal_expiries"):
        expire_proposal.delay(tenant_id, proposal_id)


@shared_task
def decide_bulk(tenant_id: int, bulk_id: int) -> None:
    """Decide on what waits of one bulk decision."""
    decide_all_items(tenant_id, bulk_id)


@shared_task
def sweep_bulk() -> None:
    """Take up every bulk decision that has something left."""
    for tenant_id, bulk_id in due_work("bulk_decisions"):
        decide_bulk.delay(tenant_id, bulk_id)
