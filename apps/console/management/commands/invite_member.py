"""Invites a person into a tenant by e-mail address."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from apps.console.management.member_arguments import add_member_arguments
from apps.governance.actors import Role
from apps.governance.errors import GovernanceError
from apps.governance.policy.policy_table import Act
from apps.tenants.accounts.invitations import INVITATION_SECONDS, invitation_url, invite
from apps.tenants.management.command_arguments import command_actor


class Command(BaseCommand):
    """The membership gives no access until its link is used, except to a person with a proven address."""

    acts = (Act.MEMBER_INVITE,)
    help = "Invite a person into a tenant as operator or admin, and print the invitation link."

    def add_arguments(self, parser: CommandParser) -> None:
        """E-mail address, tenant and role."""
        add_member_arguments(parser)
        parser.add_argument(
            "--role",
            choices=[Role.OPERATOR.value, Role.ADMIN.value],
            default=Role.OPERATOR.value,
            help="The role of the new member (default: %(default)s).",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Print only the link on standard output."""
        email, key = options["email"], options["tenant"]
        actor = command_actor(key, options["username"])
        try:
            invited = invite(email, Role(options["role"]), actor=actor)
        except GovernanceError as refusal:
            raise CommandError(str(refusal)) from refusal
        if invited.is_open:
            self.stderr.write(
                f"{email} is {options['role']} of {key}. The address is proven already; no link is needed."
            )
            return
        self.stderr.write(f"{email} becomes {options['role']} of {key} when they use the link.")
        self.stderr.write(f"The link works once, within {INVITATION_SECONDS // 86_400} days:")
        self.stdout.write(invitation_url(invited.row))
