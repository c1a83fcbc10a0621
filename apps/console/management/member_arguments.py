"""The member that a command's words name, and the decision about them."""

from collections.abc import Callable, Mapping
from typing import Any

from django.core.management.base import CommandError, CommandParser

from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.errors import GovernanceError
from apps.tenants.authentication.actor_resolution import people_by_username
from apps.tenants.management.command_arguments import command_actor
from apps.tenants.models import Membership


def add_member_arguments(parser: CommandParser) -> None:
    """Every command about a member names them, their tenant and whoever decides the same way."""
    parser.add_argument("email", metavar="MAIL", help="The mail address the person signs in by.")
    parser.add_argument("--tenant", required=True, metavar="KEY", help="The tenant's key.")
    parser.add_argument(
        "--as", dest="username", metavar="USERNAME", help="The admin who decides. Without it, the system does."
    )


def membership_of(email: str, tenant_key: str, *, actor: Actor) -> Membership:
    """Where this person belongs to the tenant, deactivated members included."""
    with acting_as(actor):
        found = Membership.objects.visible_to(actor).filter(user__in=people_by_username(email)).first()
    if found is None:
        raise CommandError(f"{email} is no member of tenant {tenant_key}. Let them in first: manage.py invite_member.")
    return found


def add_reason(parser: CommandParser) -> None:
    """A decision may carry a reason; none is asked for where somebody has to act quickly."""
    parser.add_argument("--reason", default="", help="Why; it stays in the books.")


def decide_about_member(
    decide: Callable[..., Membership], options: Mapping[str, Any], *, when_deactivated: str
) -> Membership:
    """Do this to the active member that the words name, or say what is in the way."""
    email, key = options["email"], options["tenant"]
    actor = command_actor(key, options["username"])
    membership = membership_of(email, key, actor=actor)
    if not membership.is_active:
        raise CommandError(f"{email} is deactivated{when_deactivated}")
    try:
        return decide(membership, actor=actor, reason=options["reason"])
    except GovernanceError as refusal:
        raise CommandError(str(refusal)) from refusal
