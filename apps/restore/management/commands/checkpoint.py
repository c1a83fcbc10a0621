"""Creates a checkpoint: a named moment to which an agent or a tenant can be restored."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from apps.governance.errors import GovernanceError
from apps.governance.policy.policy_table import Act
from apps.restore.actions import make_checkpoint
from apps.tenants.management.command_arguments import command_actor, get_agent
from apps.tenants.tenant_clock import parse_moment, zone_of


class Command(BaseCommand):
    """The command. A checkpoint copies no data, because the change records contain the state of every moment."""

    acts = (Act.CHECKPOINT_CREATE,)
    help = "Create a checkpoint of a tenant, or with --agent of one agent."

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the arguments: name, scope and moment."""
        parser.add_argument("name", help="The name of the checkpoint.")
        parser.add_argument("--tenant", required=True, metavar="KEY", help="The tenant's key.")
        parser.add_argument("--agent", metavar="KEY", help="The key of one agent; without it, the whole tenant.")
        parser.add_argument("--at", metavar="TIME", help="A past moment; without it, now.")
        parser.add_argument("--reason", default="", metavar="TEXT", help="The reason; stored with the checkpoint.")
        parser.add_argument(
            "--as", dest="username", metavar="USERNAME", help="The member who acts; without it, the system."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Create the checkpoint, and print its id for `restore --checkpoint`."""
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
