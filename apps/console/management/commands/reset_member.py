"""Resets the sign-in of a member who lost the password, or suspects that somebody else knows it."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from apps.console.management.member_arguments import add_member_arguments, add_reason, decide_about_member
from apps.governance.policy.policy_table import Act
from apps.tenants.accounts.invitations import INVITATION_SECONDS, invitation_url
from apps.tenants.accounts.people import reset_sign_in

NO_LINK = ", so no link would sign them in. Reactivate them in the console."


class Command(BaseCommand):
    """The old password and every session end when the command runs, not when the link is opened."""

    acts = (Act.MEMBER_RESET,)
    help = "Invalidate a member's password and sessions, and print a link that signs them in once."

    def add_arguments(self, parser: CommandParser) -> None:
        """Member, tenant and reason."""
        add_member_arguments(parser)
        add_reason(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        """Print only the link on standard output."""
        membership = decide_about_member(reset_sign_in, options, when_deactivated=NO_LINK)
        self.stderr.write(f"The password and all sessions of {membership.user.username} have ended.")
        self.stderr.write(f"The link works once, within {INVITATION_SECONDS // 86_400} days:")
        self.stdout.write(invitation_url(membership))
