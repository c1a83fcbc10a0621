"""Encrypts stored secrets with the first of SEALING_KEYS again, so that an old key can be removed."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import GovernanceError
from apps.tenants.accounts.second_factor import reseal_factors
from apps.tenants.authentication.actor_resolution import system_actor
from apps.tenants.management.command_arguments import ALL_TENANTS, select_tenants
from apps.tenants.sealed_secrets import reseal_all


class Command(BaseCommand):
    """Decrypts each secret with the key of SEALING_KEYS that fits, and encrypts it with the first. Prints no secret."""

    help = "Encrypt every stored secret again with the first of SEALING_KEYS. Afterwards the others may be removed."

    def add_arguments(self, parser: CommandParser) -> None:
        """The tenant."""
        parser.add_argument(
            "--tenant",
            default=ALL_TENANTS,
            metavar="KEY",
            help="The tenant's key; by default all tenants, and people's second factors.",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Print one line for each tenant with secrets; fail if one could not be decrypted."""
        lost = 0
        try:
            for key, tenant_id in select_tenants(options["tenant"]):
                lost += self._reseal(key, tenant_id)
            if options["tenant"] == ALL_TENANTS:
                lost += self._report("people", *reseal_factors())
        except GovernanceError as refusal:
            raise CommandError(str(refusal)) from refusal
        if lost:
            raise CommandError(f"None of SEALING_KEYS decrypts {lost} secrets. Enter them again in the console.")

    def _reseal(self, key: str, tenant_id: int) -> int:
        with acting_as(system_actor(tenant_id)):
            done, lost = reseal_all(tenant_id)
        return self._report(key, done, lost)

    def _report(self, label: str, done: int, lost: int) -> int:
        if done or lost:
            self.stdout.write(f"{label}: {done} secrets encrypted again, {lost} cannot be decrypted.")
        return lost
