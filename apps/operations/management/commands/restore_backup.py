"""Replaces the database with a backup."""

from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connections

from apps.operations.backup.archive import (
    BackupRefused,
    read_manifest,
    refuse_unwritable,
    restore_attachments,
    unpack_backup,
)
from apps.operations.backup.postgres_programs import ProgramFailed
from apps.operations.backup.restore_backup import (
    RESTORING_SUFFIX,
    database_name,
    has_tables,
    replace_database,
    restore_to_new_database,
)
from apps.operations.management.commands.create_backup import attachments_folder, manifest_summary
from apps.operations.management.owner_database import require_owner_url


class Command(BaseCommand):
    """Restores into a new database and compares it with the manifest first, so that a damaged backup changes nothing."""

    help = (
        "Restore a backup. A database with tables is replaced only with --replace, and only after the whole backup was"
        " restored beside it. Stop web, worker and beat first."
    )
    requires_system_checks: tuple[str, ...] = ()

    def add_arguments(self, parser: CommandParser) -> None:
        """The backup, and whether the present database may be dropped."""
        parser.add_argument("file", type=Path, metavar="FILE", help="A file that create_backup wrote.")
        parser.add_argument("--replace", action="store_true", help="Drop the present database for good.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Restore the backup and upgrade it to this release."""
        require_owner_url()
        try:
            self._restore(options["file"].absolute(), replace=options["replace"])
        except (BackupRefused, ProgramFailed) as refusal:
            raise CommandError(str(refusal)) from refusal
        call_command("setup_database", verbosity=options["verbosity"], stdout=self.stdout)

    def _restore(self, file: Path, *, replace: bool) -> None:
        manifest, name, files = read_manifest(file), database_name(), attachments_folder()
        if has_tables(name) and not replace:
            raise CommandError(f"The database {name} is not empty. To drop its contents, pass --replace.")
        if files and manifest.file_count:
            refuse_unwritable(files)
        with unpack_backup(file, manifest) as folder:
            self.stderr.write(f"Restoring {manifest_summary(manifest)}, as of {manifest.made_at}.")
            restore_to_new_database(folder, manifest, f"{name}{RESTORING_SUFFIX}")
            connections.close_all()
            replace_database(f"{name}{RESTORING_SUFFIX}", name)
            copied = restore_attachments(folder, files) if files else 0
        self.stdout.write(f"{name} has every row of the backup; {copied} attachments were copied back.")
