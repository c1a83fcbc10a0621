"""Deactivates a member of a tenant."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from apps.console.management.member_arguments import add_member_arguments, add_reason, decide_about_member
from apps.governance.policy.policy_table import Act
from apps.tenants.accounts.people import deactivate_and_sign_out


class Command(BaseCommand):
    """The audit log keeps what the person did; an admin can reactivate them."""

    acts = (Act.MEMBER_DEACTIVATE,)
    help = "Deactivate a member: from their next request on they have no access to the tenant."

    def add_arguments(self, parser: CommandParser) -> None:
        """Member, tenant and reason."""
        add_member_arguments(parser)
        add_reason(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        """Deactivate the member and print the result."""
        membership = decide_about_member(deactivate_and_sign_out, options, when_deactivated=" already.")
        email, key = membership.user.username, options["tenant"]
        self.stdout.write(f"{email} is deactivated in {key}. From their next request on they have no access there.")
