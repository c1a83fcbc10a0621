"""Proves that a backup of this installation can be restored."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from apps.operations.backup.archive import BackupRefused, Manifest, back_up, missing_attachments, unpack_backup
from apps.operations.backup.postgres_programs import ProgramFailed
from apps.operations.backup.restore_backup import (
    database_name,
    drop_database,
    owner_url_of,
    restore_to_new_database,
)
from apps.operations.backup.restore_drill import (
    DRILL_SUFFIX,
    parse_prompt_hashes,
    prompt_differences,
    run_manage_command,
)
from apps.operations.management.commands.create_backup import attachments_folder, manifest_summary
from apps.operations.management.owner_database import require_owner_url


class Command(BaseCommand):
    """The installation keeps running. The backup and the restored database are deleted afterwards."""

    help = (
        "Back up, restore beside the installation, and compare every row of every table, the attachments, the audit"
        " chain of every tenant, row security and grants, and every agent's prompt byte for byte."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        """Print a line for each comparison; fail if one differs."""
        require_owner_url()
        began = perf_counter()
        try:
            with TemporaryDirectory(prefix="drill-") as folder:
                wrong = list(self._drill(Path(folder) / "backup.tar"))
        except (BackupRefused, ProgramFailed) as refusal:
            raise CommandError(str(refusal)) from refusal
        for sentence in wrong:
            self.stderr.write(sentence)
        if wrong:
            raise CommandError(f"The backup is not reliable: {len(wrong)} findings.")
        self.stdout.write(f"The backup is reliable. The drill took {perf_counter() - began:.0f} s.")

    def _drill(self, file: Path) -> Iterator[str]:
        name = f"{database_name()}{DRILL_SUFFIX}"
        manifest = back_up(settings.DATABASE_OWNER_URL, file, attachments_folder())
        self.stdout.write(f"Backed up: {manifest_summary(manifest)}.")
        try:
            with unpack_backup(file, manifest) as folder:
                restore_to_new_database(folder, manifest, name)
                missing = missing_attachments(owner_url_of(name), folder) if manifest.has_files else []
            self.stdout.write(f"Restored as {name}; every row is there.")
            yield from (f"A skill names the attachment {key}, and the backup does not have it." for key in missing)
            yield from self._verify_restored(name, manifest)
        finally:
            drop_database(name)

    def _verify_restored(self, name: str, manifest: Manifest) -> Iterator[str]:
        for command, success_message in (
            (("verify_audit",), "The audit chain of every tenant is intact."),
            (("sync_policy", "--check"), "Row security, rights and grants match this release."),
        ):
            asked = run_manage_command(name, *command)
            if asked.is_well:
                self.stdout.write(success_message)
            else:
                yield f"On the restored database {command[0]} fails: {asked.closing}"
        yield from self._compare_prompts(name, manifest)

    def _compare_prompts(self, name: str, manifest: Manifest) -> Iterator[str]:
        words = ("hash_prompts", "--at", manifest.made_at)
        here, there = run_manage_command(database_name(), *words), run_manage_command(name, *words)
        if not (here.is_well and there.is_well):
            yield f"The prompts could not be read: {here.closing or there.closing}"
            return
        known = parse_prompt_hashes(here.out)
        differing = list(prompt_differences(known, parse_prompt_hashes(there.out)))
        yield from differing
        if not differing:
            self.stdout.write(f"{len(known)} prompts are identical, byte for byte.")
