"""Encrypt the keys of others and what makes people's codes anew, so that an old one of SEALING_KEYS can go."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import GovernanceError
from apps.tenants.accounts.second_factor import reseal_factors
from apps.tenants.authentication.actor_resolution import system_actor
from apps.tenants.management.command_arguments import ALL_TENANTS, select_tenants
from apps.tenants.sealed_secrets import reseal_all


class Command(BaseCommand):
    """Each key is opened by whichever of SEALING_KEYS fits, and closed by the first. It is shown nowhere."""

    help = "Encrypt every stored key under the first of SEALING_KEYS; afterwards the others may be removed."

    def add_arguments(self, parser: CommandParser) -> None:
        """Whose keys."""
        parser.add_argument(
            "--tenant", default=ALL_TENANTS, metavar="KEY", help="The tenant's key; by default all tenants, and people."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Print one line for each tenant that has keys; fail if one could not be opened."""
        del args
        lost = 0
        try:
            for key, tenant_id in select_tenants(options["tenant"]):
                lost += self._reseal(key, tenant_id)
            if options["tenant"] == ALL_TENANTS:
                lost += self._report("people", *reseal_factors())
        except GovernanceError as refusal:
            raise CommandError(str(refusal)) from refusal
        if lost:
            raise CommandError(f"{lost} keys are opened by none of SEALING_KEYS. Enter them anew in the console.")

    def _reseal(self, key: str, tenant_id: int) -> int:
        with acting_as(system_actor(tenant_id)):
            done, lost = reseal_all(tenant_id)
        return self._report(key, done, lost)

    def _report(self, label: str, done: int, lost: int) -> int:
        if done or lost:
            self.stdout.write(f"{label}: {done} keys encrypted anew, {lost} that nothing opens.")
        return lost
