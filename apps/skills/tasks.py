"""Alarm clocks of skills: one call each."""

from celery import shared_task
from django.utils import timezone

from apps.skills.attachments.orphan_sweep import sweep_files


@shared_task
def sweep() -> None:
    """Remove what uploads left behind."""
    sweep_files(timezone.now())
