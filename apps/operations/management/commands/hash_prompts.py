"""Prints the hash of every agent's prompt, so that two databases can be compared."""

import json
from datetime import datetime
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import TextErased
from apps.memory.models import CustomerProfile
from apps.prompt.rendering.snapshot import render_snapshot
from apps.runtime.prompt_snapshot.preview import preview_prompt_input
from apps.tenants.authentication.actor_resolution import system_actor
from apps.tenants.management.command_arguments import ALL_TENANTS, select_tenants
from apps.tenants.models import Agent

NO_CUSTOMER = "nobody"
CUSTOMERS_PER_AGENT = 3


class Command(BaseCommand):
    """Prints no text, and names customers by the id of their profile."""

    help = (
        "Print the hash of each agent's prompt, one JSON object per line: without a customer, and for the"
        f" {CUSTOMERS_PER_AGENT} newest customers of each tenant. The prompts are those of one moment, so that the same moment"
        " gives the same hashes."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """The tenant and the moment."""
        parser.add_argument(
            "--tenant", default=ALL_TENANTS, metavar="KEY", help="The tenant's key; all tenants by default."
        )
        parser.add_argument("--at", metavar="TIME", help="A moment with its UTC offset; now by default.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Read, assemble, print; nothing is stored."""
        moment = _parse_moment(options["at"])
        for key, tenant_id in select_tenants(options["tenant"]):
            system = system_actor(tenant_id)
            with acting_as(system):
                agents = list(Agent.objects.filter(tenant_id=tenant_id, created_at__lte=moment).order_by("pk"))
                known = CustomerProfile.objects.filter(tenant_id=tenant_id, created_at__lte=moment).order_by("-pk")
                customers = [
                    (NO_CUSTOMER, ""),
                    *((str(pk), name) for pk, name in known.values_list("pk", "end_user_key")[:CUSTOMERS_PER_AGENT]),
                ]
            for agent in agents:
                for customer, end_user_key in customers:
                    line = {"tenant": key, "agent": agent.key, "customer": customer}
                    try:
                        told_then = render_snapshot(
                            preview_prompt_input(agent, end_user_key, system=system, moment=moment)
                        )
                        line |= {"bytes": str(len(told_then.text.encode())), "sha256": told_then.sha256}
                    except TextErased:
                        line |= {"bytes": "0", "sha256": "erased"}
                    self.stdout.write(json.dumps(line))


def _parse_moment(value: str | None) -> datetime:
    if value is None:
        return timezone.now()
    try:
        moment = datetime.fromisoformat(value)
    except ValueError as refusal:
        raise CommandError(f"--at: “{value}” is not a moment. Write 2026-11-23T18:00:00+00:00.") from refusal
    if moment.tzinfo is None:
        raise CommandError(f"--at: “{value}” has no UTC offset. Write {value}+00:00.")
    return moment
