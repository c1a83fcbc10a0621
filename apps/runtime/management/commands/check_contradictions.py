"""Look at what an agent goes by now, without waiting for the night."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from apps.governance.database.actor_transaction import acting_as
from apps.governance.policy.policy_table import Act
from apps.learning.contradictions.models import Contradiction
from apps.runtime.contradiction_scan import scan_agent
from apps.tenants.authentication.actor_resolution import system_actor
from apps.tenants.management.command_arguments import add_agent_arguments, command_actor, get_agent


class Command(BaseCommand):
    """One line for each contradiction that is open."""

    acts = (Act.CONTRADICTION_FIND, Act.CONTRADICTION_RECUR, Act.CONTRADICTION_CLEAR)
    help = (
        "Compare persona, rules, memory, blocks and approved skills of one agent, without a model, and keep what cannot both"
        " be right for people to look at. Every night does the same."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Whose lines."""
        add_agent_arguments(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        """What is open goes to stdout, how far the look went to stderr."""
        del args
        actor = system_actor(command_actor(options["tenant"]).tenant_id, "contradictions")
        agent = get_agent(options["agent"], actor=actor)
        found = scan_agent(agent.pk, actor=actor, now=timezone.now(), at_once=True)
        if found is None:
            raise CommandError("A worker looks at this agent just now. Run the command again in ten minutes.")
        end = "" if found.extent.is_complete else " A limit ended the look."
        self.stderr.write(
            f"{found.extent.text_count} texts, {found.extent.pair_count} pairs of statements compared.{end}"
        )
        with acting_as(actor):
            rows = list(Contradiction.objects.visible_to(actor).of_agent(agent.pk).open().order_by("id"))
        for row in rows:
            other = (
                f" / {row.second_location}: {row.second_text}" if row.second_location else f" ({row.conflicting_words})"
            )
            self.stdout.write(f"{row.kind:<9} {row.first_location}: {row.first_text}{other}")
        self.stdout.write(f"Open: {len(rows)}. New: {found.new}, back: {found.back}, gone: {found.gone}.")
