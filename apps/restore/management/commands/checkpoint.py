"""Name the present moment, or one of the past, so that an agent or a tenant can be brought back to it."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from apps.governance.errors import GovernanceError
from apps.governance.policy.policy_table import Act
from apps.restore.actions import make_checkpoint
from apps.tenants.management.command_arguments import command_actor, get_agent
from apps.tenants.tenant_clock import parse_moment, zone_of


class Command(BaseCommand):
    """It copies nothing: the change records know what stood at the moment."""

    acts = (Act.CHECKPOINT_CREATE,)
    help = "Make a checkpoint of a tenant, or with --agent of one agent."

    def add_arguments(self, parser: CommandParser) -> None:
        """Whose, called what, and when."""
        parser.add_argument("name", help="What one will look for it by.")
        parser.add_argument("--tenant", required=True, metavar="KEY", help="The tenant's key.")
        parser.add_argument("--agent", metavar="KEY", help="One of its agents; without it, the whole tenant.")
        parser.add_argument("--at", metavar="TIME", help="A moment of the past; without it, the present one.")
        parser.add_argument("--reason", default="", metavar="TEXT", help="Kept with it.")
        parser.add_argument("--as", dest="username", metavar="USERNAME", help="A member; without it, the system.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Print the number by which `restore --checkpoint` knows it."""
        del args
        actor = command_actor(options["tenant"], options["username"])
        agent_id = get_agent(options["agent"], actor=actor).pk if options["agent"] else None
        try:
            moment = parse_moment(options["at"], zone_of(actor), timezone.now()) if options["at"] else None
            made = make_checkpoint(
                options["name"], actor=actor, agent_id=agent_id, moment=moment, reason=options["reason"]
            )
        except GovernanceError as refusal:
            raise CommandError(str(refusal)) from refusal
        self.stdout.write(f"Checkpoint {made.pk}: {made.name}, {made.moment.isoformat(timespec='seconds')}")
