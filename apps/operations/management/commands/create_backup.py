"""Writes a backup of the installation to one file."""

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.operations.backup.archive import BackupRefused, Manifest, back_up
from apps.operations.backup.postgres_programs import ProgramFailed
from apps.operations.management.owner_database import require_owner_url


class Command(BaseCommand):
    """Needs DATABASE_OWNER_URL, since row security hides tenants' rows from every other login."""

    help = "Write the database and the folder of attachments to one file. Processes may keep running."

    def add_arguments(self, parser: CommandParser) -> None:
        """The file to write."""
        parser.add_argument("file", type=Path, metavar="FILE", help="The file to write. It must not exist yet.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Write the backup and print its contents."""
        require_owner_url()
        try:
            manifest = back_up(settings.DATABASE_OWNER_URL, options["file"].absolute(), attachments_folder())
        except (BackupRefused, ProgramFailed) as refusal:
            raise CommandError(str(refusal)) from refusal
        self.stdout.write(f"{options['file']}: {manifest_summary(manifest)}, as of {manifest.made_at}.")
        if not manifest.has_files:
            self.stderr.write(f"Attachments are in the bucket {settings.ATTACHMENTS_S3_BUCKET} and not in the backup.")
        self.stderr.write("SECRET_KEY and SEALING_KEYS are not in the backup. Keep them in another place.")


def attachments_folder() -> Path | None:
    """The folder of attachments; None if they are in a bucket."""
    return None if settings.ATTACHMENTS_S3_BUCKET else Path(settings.ATTACHMENTS_DIR)


def manifest_summary(manifest: Manifest) -> str:
    """The size of a backup, in words."""
    kilobytes = (manifest.dump_bytes + manifest.file_bytes) / 1000
    return (
        f"{manifest.rows:,} rows in {len(manifest.contents)} tables, {manifest.file_count:,} attachments,"
        f" {kilobytes:,.0f} kB"
    )
