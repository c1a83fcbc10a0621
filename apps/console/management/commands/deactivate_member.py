"""Shut a member out of a tenant."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.console.management.named import add_names, membership_of
from apps.conversations.management.named import actor_named
from apps.governance.errors import GovernanceError
from apps.governance.policy import Act
from apps.tenants.people import dismiss


class Command(BaseCommand):
    """What the person did stays in the books; an admin may let them in again."""

    acts = (Act.MEMBER_DEACTIVATE,)
    help = "Make a member nobody in the tenant from the next request on."

    def add_arguments(self, parser: CommandParser) -> None:
        """Who, where, why."""
        add_names(parser)
        parser.add_argument("--reason", default="", help="Why; it stays in the books.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Print what holds now."""
        del args
        email, key = options["email"], options["tenant"]
        actor = actor_named(key, options["username"])
        membership = membership_of(email, key, actor=actor)
        if not membership.is_active:
            raise CommandError(f"{email} is deactivated already.")
        try:
            dismiss(membership, actor=actor, reason=options["reason"])
        except GovernanceError as refusal:
            raise CommandError(str(refusal)) from refusal
        self.stdout.write(f"{email} is deactivated in {key}. From their next request on they are nobody there.")
