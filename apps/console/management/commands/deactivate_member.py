"""Shut a member out of a tenant."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from apps.console.management.member_arguments import add_member_arguments, add_reason, decide_about_member
from apps.governance.policy.policy_table import Act
from apps.tenants.accounts.people import deactivate_and_sign_out


class Command(BaseCommand):
    """What the person did stays in the books; an admin may let them in again."""

    acts = (Act.MEMBER_DEACTIVATE,)
    help = "Make a member nobody in the tenant from the next request on."

    def add_arguments(self, parser: CommandParser) -> None:
        """Who, where, why."""
        add_member_arguments(parser)
        add_reason(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        """Print what holds now."""
        del args
        membership = decide_about_member(deactivate_and_sign_out, options, when_deactivated=" already.")
        email, key = membership.user.username, options["tenant"]
        self.stdout.write(f"{email} is deactivated in {key}. From their next request on they are nobody there.")
