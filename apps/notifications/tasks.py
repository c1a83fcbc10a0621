"""Celery tasks of notifications. Each takes ids and makes one call."""

from celery import shared_task
from django.utils import timezone

from apps.notifications.email_delivery import notify_person
from apps.notifications.review_webhooks import enqueue_reviews
from apps.tenants.due_work import due_work


@shared_task
def send_notice(tenant_id: int, terms_id: int) -> None:
    """Send one person the e-mail that is due."""
    notify_person(tenant_id, terms_id, now=timezone.now())


@shared_task
def sweep() -> None:
    """Check every person whose next check is due."""
    for tenant_id, terms_id in due_work("notifications"):
        send_notice.delay(tenant_id, terms_id)


@shared_task
def note_reviews(tenant_id: int, webhook_id: int) -> None:
    """Queue the waiting reviews for one webhook."""
    enqueue_reviews(tenant_id, webhook_id)


@shared_task
def sweep_review_webhooks() -> None:
    """Queue waiting reviews for every webhook that lacks one."""
    for tenant_id, webhook_id in due_work("review_webhooks"):
        note_reviews.delay(tenant_id, webhook_id)
