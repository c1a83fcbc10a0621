"""Prints the receipt of a decided proposal."""

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.governance.audit.approval_receipts import receipt_of
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import GovernanceError
from apps.tenants.authentication.actor_resolution import system_actor_of_tenant


class Command(BaseCommand):
    """`verify_audit --receipt` checks later whether the audit log still matches it."""

    help = "Print the receipt of a decided proposal as JSON: the decision, the people, the time, and its links in the audit chain."

    def add_arguments(self, parser: CommandParser) -> None:
        """The proposal and its tenant."""
        parser.add_argument("proposal_id", type=int, metavar="PROPOSAL_ID", help="The id of the proposal.")
        parser.add_argument("--tenant", required=True, metavar="KEY", help="The tenant's key.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Print the document."""
        actor = system_actor_of_tenant(options["tenant"])
        if actor is None:
            raise CommandError(f"There is no tenant “{options['tenant']}”.")
        try:
            with acting_as(actor):
                receipt = receipt_of(options["proposal_id"], tenant_key=options["tenant"], actor=actor)
        except GovernanceError as refusal:
            raise CommandError(str(refusal)) from refusal
        self.stdout.write(json.dumps(receipt, indent=2, ensure_ascii=False))
