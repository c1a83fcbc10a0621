"""Alarm clocks of notices: ids in, one call."""

from celery import shared_task
from django.utils import timezone

from apps.notices.sending import tell_person
from apps.tenants.due import due_work


@shared_task
def send_notice(tenant_id: int, terms_id: int) -> None:
    """Tell one person what is due."""
    tell_person(tenant_id, terms_id, now=timezone.now())


@shared_task
def sweep() -> None:
    """Look at everybody whose next look is due."""
    for tenant_id, terms_id in due_work("notice"):
        send_notice.delay(tenant_id, terms_id)
