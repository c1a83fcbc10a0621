"""Let a member start anew: for whoever lost a password, or whose password somebody else may know."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.console.login_links import INVITATION_SECONDS, invitation_to
from apps.console.management.named import add_names, membership_of
from apps.conversations.management.named import actor_named
from apps.governance.errors import GovernanceError
from apps.governance.policy import Act
from apps.tenants.people import reset


class Command(BaseCommand):
    """The old password and every session end when it runs, not when the link is opened."""

    acts = (Act.MEMBER_RESET,)
    help = "End a member's password and sessions, and print the link that signs them in once."

    def add_arguments(self, parser: CommandParser) -> None:
        """Who, where, why."""
        add_names(parser)
        parser.add_argument("--reason", default="", help="Why; it stays in the books.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Print the link on standard output and nothing else there."""
        del args
        email, key = options["email"], options["tenant"]
        actor = actor_named(key, options["username"])
        membership = membership_of(email, key, actor=actor)
        if not membership.is_active:
            raise CommandError(f"{email} is deactivated, so no link would let them in. Reactivate them in the console.")
        try:
            reset(membership, actor=actor, reason=options["reason"])
        except GovernanceError as refusal:
            raise CommandError(str(refusal)) from refusal
        self.stderr.write(f"Whatever let {email} in until now is ended.")
        self.stderr.write(f"The link works once, within {INVITATION_SECONDS // 86_400} days:")
        self.stdout.write(invitation_to(membership))
