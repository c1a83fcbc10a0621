"""Let somebody into a tenant by their mail address."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.console.management.member_arguments import add_member_arguments
from apps.governance.actors import Role
from apps.governance.errors import GovernanceError
from apps.governance.policy.policy_table import Act
from apps.tenants.accounts.invitations import INVITATION_SECONDS, invitation_url, invite
from apps.tenants.management.command_arguments import command_actor


class Command(BaseCommand):
    """The membership opens nothing until its link is used, except to somebody known to own the address."""

    acts = (Act.MEMBER_INVITE,)
    help = "Let a person into a tenant as operator or admin, and print the link by which they come in."

    def add_arguments(self, parser: CommandParser) -> None:
        """Who, where, as what."""
        add_member_arguments(parser)
        parser.add_argument("--role", choices=[Role.OPERATOR.value, Role.ADMIN.value], default=Role.OPERATOR.value)

    def handle(self, *args: Any, **options: Any) -> None:
        """Print the link on standard output and nothing else there."""
        del args
        email, key = options["email"], options["tenant"]
        actor = command_actor(key, options["username"])
        try:
            invited = invite(email, Role(options["role"]), actor=actor)
        except GovernanceError as refusal:
            raise CommandError(str(refusal)) from refusal
        if invited.is_open:
            self.stderr.write(
                f"{email} is {options['role']} of {key}. They are known to own the address; no link is needed."
            )
            return
        self.stderr.write(f"{email} is {options['role']} of {key} once they have used the link.")
        self.stderr.write(f"The link works once, within {INVITATION_SECONDS // 86_400} days:")
        self.stdout.write(invitation_url(invited.row))
