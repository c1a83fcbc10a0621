"""Celery tasks of skills. Each task makes a single call."""

from celery import shared_task
from django.utils import timezone

from apps.skills.attachments.orphan_sweep import sweep_files


@shared_task
def sweep() -> None:
    """Remove the bytes of uploads that no skill refers to."""
    sweep_files(timezone.now())
