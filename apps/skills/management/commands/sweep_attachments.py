"""Remove the bytes of uploads that nothing came to name."""

from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

from apps.skills.attachments.orphan_sweep import sweep_files


class Command(BaseCommand):
    """What the beat does once a day, at once."""

    help = "Remove stored files older than a day that neither a skill nor its history names."

    def handle(self, *args: Any, **options: Any) -> None:
        """Say how many there were."""
        del args, options
        swept = sweep_files(timezone.now())
        self.stdout.write(f"{swept} stored file{'' if swept == 1 else 's'} that nothing names removed.")
