"""Runs the nightly scan for contradictions now, for one agent."""

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
    """Prints one line for each open contradiction."""

    acts = (Act.CONTRADICTION_FIND, Act.CONTRADICTION_RECUR, Act.CONTRADICTION_CLEAR)
    help = (
        "Compare persona, rules, memory, blocks and approved skills of one agent, without a model, and store contradictions"
        " for review. A nightly scan does the same."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """The agent."""
        add_agent_arguments(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        """Open contradictions go to stdout, the extent of the scan to stderr."""
        actor = system_actor(command_actor(options["tenant"]).tenant_id, "contradictions")
        agent = get_agent(options["agent"], actor=actor)
        found = scan_agent(agent.pk, actor=actor, now=timezone.now(), at_once=True)
        if found is None:
            raise CommandError("A worker is scanning this agent right now. Run the command again in ten minutes.")
        end = "" if found.extent.is_complete else " The scan reached its limit."
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
        self.stdout.write(f"Open: {len(rows)}. New: {found.new}, reopened: {found.back}, cleared: {found.gone}.")
