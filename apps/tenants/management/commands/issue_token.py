"""Issues a token for an agent."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.governance.database.actor_transaction import acting_as
from apps.governance.policy.policy_table import Act
from apps.tenants.actions import issue_token
from apps.tenants.authentication.actor_resolution import system_actor_of_tenant
from apps.tenants.models import Agent


class Command(BaseCommand):
    """Prints the secret once; only its digest is stored."""

    acts = (Act.TOKEN_ISSUE,)
    help = "Issue a bearer token for an agent and print it, once."

    def add_arguments(self, parser: CommandParser) -> None:
        """The agent, the token's name and its lifetime."""
        parser.add_argument("--tenant", required=True, help="The tenant's key.")
        parser.add_argument("--agent", required=True, help="The agent's key.")
        parser.add_argument("--name", default="command line", help="The purpose of the token (default: %(default)s).")
        parser.add_argument(
            "--days", type=int, default=90, help="Days until the token expires (default: %(default)s); 0: never."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Print only the secret on standard output."""
        actor = system_actor_of_tenant(options["tenant"])
        if actor is None:
            raise CommandError(f"There is no tenant {options['tenant']}.")
        if options["days"] < 0:
            raise CommandError("--days must be 0 or more.")
        with acting_as(actor):
            agent = Agent.objects.visible_to(actor).filter(key=options["agent"]).first()
        if agent is None:
            raise CommandError(f"Tenant {options['tenant']} has no agent {options['agent']}.")
        issued = issue_token(agent, actor=actor, name=options["name"], valid_days=options["days"] or None)
        self.stderr.write(f"Token {issued.row.prefix}… for {agent.key}. It is shown only once:")
        self.stdout.write(issued.secret)
