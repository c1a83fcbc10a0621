"""Which bytes every agent is told, in a form two databases can be compared by."""

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
    """No words are printed, and customers by the number of their profile."""

    help = (
        "Print the hash of what each agent is told, one JSON object a line: for nobody in particular, and for the customers who"
        f" came in last, {CUSTOMERS_PER_AGENT} of a tenant. Read as it stood at a moment, so"
        " that the same moment gives the same hashes."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Whose, and of when."""
        parser.add_argument(
            "--tenant", default=ALL_TENANTS, metavar="KEY", help="The tenant's key; all tenants by default."
        )
        parser.add_argument("--at", metavar="TIME", help="A moment with its offset; now by default.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Read, assemble, print; nothing is stored."""
        del args
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
        raise CommandError(f"--at: “{value}” is no moment. Write 2026-11-23T18:00:00+00:00.") from refusal
    if moment.tzinfo is None:
        raise CommandError(f"--at: “{value}” has no offset. Write {value}+00:00.")
    return moment
