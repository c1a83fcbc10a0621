"""Bring the role templates' grants in line with the policy."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.tenants.grants import sync_templates, template_drift


class Command(BaseCommand):
    """`--check` writes nothing and fails on drift."""

    help = "Write the role templates' grants from the policy table, or with --check say how they differ."

    def add_arguments(self, parser: CommandParser) -> None:
        """One flag."""
        parser.add_argument("--check", action="store_true", help="Change nothing; exit 1 if the grants drifted.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Print what changed or drifted."""
        del args
        if not options["check"] and "owner" not in settings.DATABASES:
            raise CommandError(
                "Set DATABASE_OWNER_URL, or run it through `make manage`: the product's login may not write it."
            )
        if not options["check"]:
            self.stdout.write(f"Grants changed: {sync_templates('owner')}.")
            return
        drift = template_drift()
        for role, (missing, surplus) in drift.items():
            self.stderr.write(f"{role.value}: lacks {sorted(missing)}, holds beyond the policy {sorted(surplus)}")
        if drift:
            raise CommandError("The grants drifted from the policy. Run `manage.py sync_policy`.")
        self.stdout.write("Grants agree with the policy.")
