"""Exports a tenant's audit log."""

from datetime import UTC, datetime
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.governance.audit.log_reader import chain_entries, export_line
from apps.governance.database.actor_transaction import acting_as
from apps.tenants.authentication.actor_resolution import system_actor_of_tenant


class Command(BaseCommand):
    """The recipient can recompute every hash from the lines."""

    help = "Print a tenant's change records and refused attempts with their links in the audit chain, one JSON object per line."

    def add_arguments(self, parser: CommandParser) -> None:
        """The tenant and the period."""
        parser.add_argument("--tenant", required=True, metavar="KEY", help="The tenant's key.")
        parser.add_argument(
            "--since", type=_parse_moment, metavar="DATE", help="Links from this date or time on (UTC)."
        )
        parser.add_argument("--until", type=_parse_moment, metavar="DATE", help="Links before this date or time (UTC).")
        parser.add_argument("--with-texts", action="store_true", help="Include the text of changes.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Print the lines in the order of the chain."""
        actor = system_actor_of_tenant(options["tenant"])
        if actor is None:
            raise CommandError(f"There is no tenant “{options['tenant']}”.")
        with acting_as(actor):
            for linked, words in chain_entries(actor.tenant_id, options["since"], options["until"]):
                self.stdout.write(export_line(linked, words if options["with_texts"] else None))


def _parse_moment(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as refusal:
        raise CommandError(f"“{text}” is not a date. Write 2026-11-21 or 2026-11-21T18:00.") from refusal
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
