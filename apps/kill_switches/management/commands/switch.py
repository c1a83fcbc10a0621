"""Stop something at once, or let it go on, from a shell."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting
from apps.governance.errors import GovernanceError
from apps.governance.policy.table import Act
from apps.kill_switches.actions import lift_switch, throw_switch
from apps.kill_switches.models import KillSwitch
from apps.tenants.management.command_arguments import actor_named, agent_named


class Command(BaseCommand):
    """Without --reason and --lift it lists what is on."""

    acts = (Act.KILL_SWITCH_ACTIVATE, Act.KILL_SWITCH_DEACTIVATE)
    help = (
        "Freeze learning, pause autonomous sending, or pause answering, for a tenant, one agent, or one channel. With --lift"
        " it goes on; without a kind, what is on is listed."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """What, where, why."""
        parser.add_argument("kind", nargs="?", choices=KillSwitch.Kind.values, help="What to stop.")
        parser.add_argument("--tenant", required=True, metavar="KEY", help="The tenant's key.")
        parser.add_argument("--agent", default="", metavar="KEY", help="Only this agent.")
        parser.add_argument("--channel", default="", help="Only this channel, such as sms.")
        parser.add_argument("--reason", default="", help="Why; people read it on every page while the switch is on.")
        parser.add_argument("--lift", action="store_true", help="Let it go on.")
        parser.add_argument("--as", dest="username", metavar="USERNAME", help="The member who does it.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Print what is stopped now."""
        del args
        actor = actor_named(options["tenant"], options["username"])
        agent_id = agent_named(options["agent"], actor=actor).pk if options["agent"] else None
        try:
            if options["kind"]:
                self._turn(KillSwitch.Kind(options["kind"]), agent_id, actor, options)
        except GovernanceError as refusal:
            raise CommandError(str(refusal)) from refusal
        self._list(actor)

    def _turn(self, kind: KillSwitch.Kind, agent_id: int | None, actor: Actor, options: dict[str, Any]) -> None:
        reason, channel = options["reason"], options["channel"]
        if not options["lift"]:
            throw_switch(kind, actor=actor, reason=reason, agent_id=agent_id, channel=channel)
            return
        with acting(actor):
            on = KillSwitch.objects.visible_to(actor).on().of_kinds(kind)
            switch = on.filter(agent=agent_id, channel=channel).select_related("agent").first()
        if switch is None:
            raise CommandError("No such switch is on. Without a kind the command lists those that are.")
        lift_switch(switch, actor=actor, reason=reason)

    def _list(self, actor: Actor) -> None:
        with acting(actor):
            for switch in KillSwitch.objects.visible_to(actor).on().select_related("agent"):
                self.stdout.write(f"{switch.sentence} Since {switch.created_at:%Y-%m-%d %H:%M} UTC: {switch.reason}")
            if not KillSwitch.objects.visible_to(actor).on().exists():
                self.stdout.write("Nothing is stopped.")
