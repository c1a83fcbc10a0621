"""Let somebody into a tenant by their mail address."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.console.login_links import INVITATION_SECONDS, invitation_to
from apps.console.management.named import add_names
from apps.conversations.management.named import actor_named
from apps.governance.actors import Role
from apps.governance.errors import GovernanceError
from apps.governance.policy import Act
from apps.tenants.people import invite


class Command(BaseCommand):
    """A link is printed for a person nobody knew; another's account may open more than this tenant."""

    acts = (Act.MEMBER_INVITE,)
    help = "Let a person into a tenant as operator or admin, and print the link that signs them in once."

    def add_arguments(self, parser: CommandParser) -> None:
        """Who, where, as what."""
        add_names(parser)
        parser.add_argument("--role", choices=[Role.OPERATOR.value, Role.ADMIN.value], default=Role.OPERATOR.value)

    def handle(self, *args: Any, **options: Any) -> None:
        """Print the link on standard output and nothing else there."""
        del args
        email, key = options["email"], options["tenant"]
        actor = actor_named(key, options["username"])
        try:
            invited = invite(email, Role(options["role"]), actor=actor)
        except GovernanceError as refusal:
            raise CommandError(str(refusal)) from refusal
        self.stderr.write(f"{email} is {options['role']} of {key}.")
        if not invited.is_new:
            self.stderr.write("They have an account already and sign in as they do; no link is made for it.")
            return
        self.stderr.write(f"The link works once, within {INVITATION_SECONDS // 86_400} days:")
        self.stdout.write(invitation_to(invited.row.user_id))
