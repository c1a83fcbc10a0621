"""Lists the rows that came from one conversation, and can quarantine them."""

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.console.conversations.lineage import Lineage, lineage_of
from apps.conversations.models import Conversation
from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import GovernanceError
from apps.governance.policy.policy_table import Act
from apps.learning.lineage import Descendant, quarantine_descendants
from apps.tenants.authentication.actor_resolution import member_by_username, system_actor_of_tenant


class Command(BaseCommand):
    """Reads as the system. A quarantine needs a named person."""

    # What --quarantine does, as the member it names.
    acts_of_members = (
        Act.PROPOSAL_QUARANTINE,
        Act.SKILL_QUARANTINE,
        Act.MEMORY_AMEND,
        Act.BLOCK_AMEND,
        Act.PROFILE_AMEND,
    )
    help = "List everything that came from one conversation, line by line; with --quarantine, remove it."

    def add_arguments(self, parser: CommandParser) -> None:
        """The conversation, and whether to quarantine."""
        parser.add_argument("conversation", type=int, help="The conversation's number.")
        parser.add_argument("--tenant", required=True, metavar="KEY", help="The tenant's key.")
        parser.add_argument("--quarantine", action="store_true", help="Quarantine or remove everything that can be.")
        parser.add_argument("--reason", default="", help="The reason; required with --quarantine.")
        parser.add_argument(
            "--as", dest="username", metavar="USERNAME", help="The member who acts; required with --quarantine."
        )
        parser.add_argument("--json", action="store_true", help="Print one JSON object instead of lines.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Print the rows, and how many were removed."""
        actor = self._actor(options)
        with acting_as(actor):
            conversation = Conversation.objects.visible_to(actor).filter(pk=options["conversation"]).first()
        if conversation is None:
            raise CommandError(f"There is no conversation {options['conversation']} in tenant {options['tenant']}.")
        taken = self._quarantine(conversation, actor, options["reason"]) if options["quarantine"] else []
        lineage = lineage_of(conversation, actor)
        if options["json"]:
            quarantined = [[row.record_type, row.record_id] for row in taken]
            self.stdout.write(json.dumps({**lineage.as_json(), "quarantined": quarantined}, ensure_ascii=False))
            return
        self._print(lineage)
        if options["quarantine"]:
            self.stdout.write(f"Removed now: {len(taken)}.")

    def _actor(self, options: dict[str, Any]) -> Actor:
        system = system_actor_of_tenant(options["tenant"])
        if system is None:
            raise CommandError(f"There is no tenant “{options['tenant']}”.")
        if not options["quarantine"]:
            return system
        if not options["username"]:
            raise CommandError("A quarantine needs a person who acts: name the member with --as USERNAME.")
        member = member_by_username(options["username"], system.tenant_id)
        if member is None:
            raise CommandError(f"{options['username']} is not an active member of tenant {options['tenant']}.")
        return member

    def _quarantine(self, conversation: Conversation, actor: Actor, reason: str) -> list[Descendant]:
        try:
            return quarantine_descendants(conversation, actor=actor, reason=reason)
        except GovernanceError as refusal:
            raise CommandError(str(refusal)) from refusal

    def _print(self, lineage: Lineage) -> None:
        verdict = lineage.extraction.get_verdict_display() if lineage.extraction else "not processed by learning"
        self.stdout.write(f"Conversation {lineage.conversation.pk}: {verdict}.")
        for row in lineage.rows:
            self.stdout.write(
                f"{row.record_type} {row.record_id} “{row.label}”: {row.state}, {row.taint}, by {', '.join(row.acts)}"
            )
            for line in row.lines:
                self.stdout.write(f"  {'present' if line in row.standing else 'removed'}: {line}")
        named = ", ".join(map(str, lineage.named)) or "none"
        self.stdout.write(f"Sessions that carried any of it: {len(lineage.sessions)} ({named}).")
        if not lineage.rows:
            self.stdout.write("No row names this conversation as its source.")
