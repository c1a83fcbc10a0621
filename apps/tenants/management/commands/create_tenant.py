"""Creates a tenant."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.governance.errors import GovernanceError
from apps.governance.policy.policy_table import Act
from apps.prompt.memory_lines.write_holds import MemoryReview
from apps.tenants.actions import create_tenant
from apps.tenants.authentication.actor_resolution import new_tenant_actor


class Command(BaseCommand):
    """The first step after `setup_database` in production."""

    acts = (Act.TENANT_CREATE,)
    help = "Create a tenant with a key, such as acme."

    def add_arguments(self, parser: CommandParser) -> None:
        """Key, name, time zone, and review of memory."""
        parser.add_argument("key", help="Lower-case letters, digits and hyphens.")
        parser.add_argument("--name", default="", help="The display name; the key by default.")
        parser.add_argument("--timezone", default="UTC", help="The time zone of its agents, such as Europe/Berlin.")

        parser.add_argument(
            "--memory-review",
            choices=[choice.value for choice in MemoryReview],
            default=MemoryReview.TAINTED.value,
            help="Which lines that agents add to memory wait for approval: none, those that repeat a customer or tool, or all.",
        )
        parser.add_argument(
            "--profiles-without-proof",
            action="store_true",
            help="Give agents the profile of the customer that a message names, without a signature. By default one is required.",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Print the review setting and the next command."""
        key, review = options["key"], MemoryReview(options["memory_review"])
        actor = new_tenant_actor()
        try:
            create_tenant(
                key,
                options["name"] or key,
                actor=actor,
                timezone_name=options["timezone"],
                memory_review=review,
                is_customer_proof_required=not options["profiles_without_proof"],
            )
        except GovernanceError as refusal:
            raise CommandError(str(refusal)) from refusal
        self.stdout.write(f"Memory review: {review.value}. {review.sentence}")
        self.stdout.write(
            f"Tenant {key} was created. Next: manage.py add_operator USERNAME --tenant {key} --role admin"
        )
