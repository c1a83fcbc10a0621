"""Sets up a database before the product starts."""

from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand


class Command(BaseCommand):
    """Runs setup_roles, migrate and sync_policy in this order."""

    help = "Create the database roles, migrate, and write the role templates' grants. Safe to run again."
    requires_system_checks: tuple[str, ...] = ()

    def handle(self, *args: Any, **options: Any) -> None:
        """Print the result of each step."""
        verbosity = options["verbosity"]
        call_command("setup_roles", stdout=self.stdout)
        call_command("migrate", interactive=False, verbosity=verbosity, stdout=self.stdout)
        call_command("sync_policy", stdout=self.stdout)
