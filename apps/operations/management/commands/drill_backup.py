"""Prove that a backup of this installation can be restored."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from apps.operations.backup.archive import BackupRefused, Manifest, back_up, unpacked
from apps.operations.backup.postgres_programs import ProgramFailed
from apps.operations.backup.restore_backup import database_name, drop, restore_beside
from apps.operations.backup.restore_drill import SCRATCH, delegating_turn, other_prompts, prompts_in
from apps.operations.management.commands.back_up import folder_of_files, in_words
from apps.operations.management.owner_database import need_owner


class Command(BaseCommand):
    """The installation goes on meanwhile. The backup and the database it was restored to are gone afterwards."""

    help = (
        "Back up, restore beside the installation, and compare: every row of every table, the audit chain of every tenant, the"
        " walls and grants, and byte for byte what every agent is told."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        """A line for each thing that was compared; fails where one differs."""
        del args, options
        need_owner()
        began = perf_counter()
        try:
            with TemporaryDirectory(prefix="drill-") as folder:
                wrong = list(self._drill(Path(folder) / "backup.tar"))
        except (BackupRefused, ProgramFailed) as refusal:
            raise CommandError(str(refusal)) from refusal
        for sentence in wrong:
            self.stderr.write(sentence)
        if wrong:
            raise CommandError(f"The backup could not be relied on: {len(wrong)} findings.")
        self.stdout.write(f"The backup can be relied on; the drill took {perf_counter() - began:.0f} s.")

    def _drill(self, file: Path) -> Iterator[str]:
        name = f"{database_name()}{SCRATCH}"
        manifest = back_up(settings.DATABASE_OWNER_URL, file, folder_of_files())
        self.stdout.write(f"Backed up: {in_words(manifest)}.")
        try:
            with unpacked(file, manifest) as folder:
                restore_beside(folder, manifest, name)
            self.stdout.write(f"Restored beside as {name}; every row is there.")
            yield from self._compared(name, manifest)
        finally:
            drop(name)

    def _compared(self, name: str, manifest: Manifest) -> Iterator[str]:
        for command, said in (
            (("verify_audit",), "The chain of every tenant is whole."),
            (("sync_policy", "--check"), "Walls, rights and grants are those of this release."),
        ):
            asked = delegating_turn(name, *command)
            if asked.is_well:
                self.stdout.write(said)
            else:
                yield f"In what was restored, {command[0]} fails: {asked.closing}"
        yield from self._prompts(name, manifest)

    def _prompts(self, name: str, manifest: Manifest) -> Iterator[str]:
        words = ("hash_prompts", "--at", manifest.made_at)
        here, there = delegating_turn(database_name(), *words), delegating_turn(name, *words)
        if not (here.is_well and there.is_well):
            yield f"The prompts could not be read: {here.closing or there.closing}"
            return
        known = prompts_in(here.out)
        differing = list(other_prompts(known, prompts_in(there.out)))
        yield from differing
        if not differing:
            self.stdout.write(f"{len(known)} prompts are the same, byte for byte.")
