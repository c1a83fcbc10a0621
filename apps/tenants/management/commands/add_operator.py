"""Adds a person to a tenant."""

from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction

from apps.governance.actors import Role
from apps.governance.errors import GovernanceError
from apps.governance.policy.policy_table import Act
from apps.tenants.accounts.people import get_or_create_person
from apps.tenants.actions import add_member
from apps.tenants.authentication.actor_resolution import system_actor_of_tenant


class Command(BaseCommand):
    """Creates the person if missing; they first sign in with a one-time link."""

    acts = (Act.MEMBER_ADD,)
    help = "Add a person to a tenant as operator or admin. The person is created if necessary."

    def add_arguments(self, parser: CommandParser) -> None:
        """Username, tenant and role."""
        parser.add_argument("username", help="Usually the e-mail address.")
        parser.add_argument("--tenant", required=True, help="The tenant's key.")
        parser.add_argument(
            "--role",
            choices=["operator", "admin"],
            default="operator",
            help="The role of the new member (default: %(default)s).",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Print the command that gives a login link."""
        username, key = options["username"], options["tenant"]
        actor = system_actor_of_tenant(key)
        if actor is None:
            raise CommandError(f"There is no tenant {key}. Create it first: manage.py create_tenant {key}")
        try:
            with transaction.atomic():
                add_member(get_or_create_person(username), actor=actor, role=Role(options["role"]))
        except GovernanceError as refusal:
            raise CommandError(str(refusal)) from refusal
        except ValidationError as refusal:
            raise CommandError(" ".join(refusal.messages)) from refusal
        self.stdout.write(
            f"{username} becomes {options['role']} of {key} after signing in with a link: manage.py login_link {username}"
        )
