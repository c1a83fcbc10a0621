"""Let a person into a tenant's console."""

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
    """Makes the person where there is none yet; they sign in by a one-time link first."""

    acts = (Act.MEMBER_ADD,)
    help = "Add a person to a tenant as operator or admin."

    def add_arguments(self, parser: CommandParser) -> None:
        """Who, where, as what."""
        parser.add_argument("username", help="Usually the e-mail address.")
        parser.add_argument("--tenant", required=True, help="The tenant's key.")
        parser.add_argument("--role", choices=["operator", "admin"], default="operator")

    def handle(self, *args: Any, **options: Any) -> None:
        """Print how the person signs in."""
        del args
        username, key = options["username"], options["tenant"]
        actor = system_actor_of_tenant(key)
        if actor is None:
            raise CommandError(f"There is no tenant {key}. Open it first: manage.py create_tenant {key}")
        try:
            with transaction.atomic():
                add_member(get_or_create_person(username), actor=actor, role=Role(options["role"]))
        except GovernanceError as refusal:
            raise CommandError(str(refusal)) from refusal
        except ValidationError as refusal:
            raise CommandError(" ".join(refusal.messages)) from refusal
        self.stdout.write(
            f"{username} is {options['role']} of {key} once they signed in by a link: manage.py login_link {username}"
        )
