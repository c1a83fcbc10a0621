"""Writes grants and database rights from the policy table, or checks that they match it."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.governance.database_drift.role_grants import sync_rights
from apps.governance.policy.policy_table import Act
from apps.tenants.grants.guardian_sync import sync_templates
from apps.tenants.policy_sync.drift import policy_drift
from apps.tenants.policy_sync.policy_page import page_path, render_page


class Command(BaseCommand):
    """`--check` changes nothing and fails on drift."""

    acts = (Act.GRANT_SYNC,)

    help = "Write grants and database rights from the policy table; with --check, print the differences instead."

    def add_arguments(self, parser: CommandParser) -> None:
        """--check and --write-docs exclude each other."""
        flags = parser.add_mutually_exclusive_group()
        flags.add_argument(
            "--check", action="store_true", help="Change nothing; exit 1 if anything differs from the policy."
        )
        flags.add_argument("--write-docs", action="store_true", help="Write docs/policy.md only; use no database.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Print the changes or the differences."""
        if options["check"]:
            self._check()
        elif options["write_docs"]:
            page_path().write_text(render_page(), encoding="utf-8")
            self.stdout.write(f"Written: {page_path().name}.")
        elif "owner" not in settings.DATABASES:
            raise CommandError(
                "Set DATABASE_OWNER_URL, or run the command through `make manage`: the product's login may not write them."
            )
        else:
            self.stdout.write(f"Grants changed: {sync_templates('owner')}.")
            self.stdout.write(f"Database rights changed: {sync_rights('owner')}.")

    def _check(self) -> None:
        found = policy_drift()
        for line in found:
            self.stderr.write(line)
        if found:
            raise CommandError(
                f"The installation differs from the policy in {len(found)} places. `manage.py sync_policy` corrects grants and"
                " database rights; for the others, look at the place that each line names."
            )
        self.stdout.write("Grants, database rights, row security, surfaces and docs/policy.md agree with the policy.")
