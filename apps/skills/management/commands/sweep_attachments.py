"""Removes stored files that no skill refers to."""

from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

from apps.skills.attachments.orphan_sweep import sweep_files


class Command(BaseCommand):
    """Runs the daily sweep of the beat now."""

    help = "Remove stored files that are older than a day and that no skill or its history refers to."

    def handle(self, *args: Any, **options: Any) -> None:
        """Print how many were removed."""
        swept = sweep_files(timezone.now())
        self.stdout.write(f"Removed {swept} unused stored file{'' if swept == 1 else 's'}.")
