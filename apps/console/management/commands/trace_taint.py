"""What came of one conversation."""

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.console.lineage import Lineage, lineage_of
from apps.conversations.models import Conversation
from apps.governance.acting import acting
from apps.tenants.identity import tenant_named


class Command(BaseCommand):
    """Reads as the system and changes nothing."""

    help = "List everything that one conversation reached, line by line."

    def add_arguments(self, parser: CommandParser) -> None:
        """Which conversation."""
        parser.add_argument("conversation", type=int, help="The conversation's number.")
        parser.add_argument("--tenant", required=True, metavar="KEY", help="The tenant's key.")
        parser.add_argument("--json", action="store_true", help="Print one JSON object instead of lines.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Print what there is."""
        del args
        actor = tenant_named(options["tenant"])
        if actor is None:
            raise CommandError(f"There is no tenant “{options['tenant']}”.")
        with acting(actor):
            conversation = Conversation.objects.visible_to(actor).filter(pk=options["conversation"]).first()
        if conversation is None:
            raise CommandError(f"There is no conversation {options['conversation']} in tenant {options['tenant']}.")
        lineage = lineage_of(conversation, actor)
        if options["json"]:
            self.stdout.write(json.dumps(lineage.as_json(), ensure_ascii=False))
            return
        self._print(lineage)

    def _print(self, lineage: Lineage) -> None:
        verdict = lineage.extraction.get_verdict_display() if lineage.extraction else "not looked at"
        self.stdout.write(f"Conversation {lineage.conversation.pk}: {verdict}.")
        for row in lineage.rows:
            self.stdout.write(
                f"{row.record_type} {row.record_id} “{row.label}”: {row.state}, {row.taint}, by {', '.join(row.acts)}"
            )
            for line in row.lines:
                self.stdout.write(f"  {'stands' if line in row.standing else 'is gone'}: {line}")
        named = ", ".join(map(str, lineage.named)) or "none"
        self.stdout.write(f"Sessions that carried any of it: {len(lineage.sessions)} ({named}).")
        if not lineage.rows:
            self.stdout.write("Nothing names this conversation as where it comes from.")
