"""Activates or resumes a kill switch from a shell."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import GovernanceError
from apps.governance.policy.policy_table import Act
from apps.kill_switches.actions import activate_kill_switch, deactivate_kill_switch
from apps.kill_switches.models import KillSwitch
from apps.tenants.management.command_arguments import command_actor, get_agent


class Command(BaseCommand):
    """Without a kind it lists the active switches."""

    acts = (Act.KILL_SWITCH_ACTIVATE, Act.KILL_SWITCH_DEACTIVATE)
    help = (
        "Freeze learning, pause autonomous sending, or pause answering, for a tenant, one agent, or one channel. --resume"
        " ends it. Without a kind the command lists the active switches."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Kind, scope and reason."""
        parser.add_argument("kind", nargs="?", choices=KillSwitch.Kind.values, help="What to stop.")
        parser.add_argument("--tenant", required=True, metavar="KEY", help="The tenant's key.")
        parser.add_argument("--agent", default="", metavar="KEY", help="Only this agent.")
        parser.add_argument("--channel", default="", help="Only this channel, such as sms.")
        parser.add_argument(
            "--reason", default="", help="The reason; every console page shows it while the switch is on."
        )
        parser.add_argument(
            "--end-sessions",
            action="store_true",
            help="End the agents' open sessions too; needs --as, because a person does it.",
        )
        parser.add_argument("--resume", action="store_true", help="Resume what was stopped.")
        parser.add_argument(
            "--as", dest="username", metavar="USERNAME", help="The member who acts; without it, the system."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Print the active switches."""
        actor = command_actor(options["tenant"], options["username"])
        agent_id = get_agent(options["agent"], actor=actor).pk if options["agent"] else None
        try:
            if options["kind"]:
                self._activate_or_resume(KillSwitch.Kind(options["kind"]), agent_id, actor, options)
        except GovernanceError as refusal:
            raise CommandError(str(refusal)) from refusal
        self._print_active_switches(actor)

    def _activate_or_resume(
        self, kind: KillSwitch.Kind, agent_id: int | None, actor: Actor, options: dict[str, Any]
    ) -> None:
        reason, channel = options["reason"], options["channel"]
        if not options["resume"]:
            activate_kill_switch(
                kind,
                actor=actor,
                reason=reason,
                agent_id=agent_id,
                channel=channel,
                ends_sessions=options["end_sessions"],
            )
            return
        with acting_as(actor):
            on = KillSwitch.objects.visible_to(actor).on().of_kinds(kind)
            switch = on.filter(agent=agent_id, channel=channel).select_related("agent").first()
        if switch is None:
            raise CommandError("No such switch is on. Run the command without a kind to list the active ones.")
        deactivate_kill_switch(switch, actor=actor, reason=reason)

    def _print_active_switches(self, actor: Actor) -> None:
        with acting_as(actor):
            for switch in KillSwitch.objects.visible_to(actor).on().select_related("agent"):
                self.stdout.write(f"{switch.sentence} Since {switch.created_at:%Y-%m-%d %H:%M} UTC: {switch.reason}")
            if not KillSwitch.objects.visible_to(actor).on().exists():
                self.stdout.write("Nothing is stopped.")
