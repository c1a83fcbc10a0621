"""Shared arguments of commands about a member, and the call of the action."""

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
    """Arguments for the member, the tenant and the acting admin, the same in every command about a member."""
    parser.add_argument("email", metavar="MAIL", help="The e-mail address the person signs in with.")
    parser.add_argument("--tenant", required=True, metavar="KEY", help="The tenant's key.")
    parser.add_argument("--as", dest="username", metavar="USERNAME", help="The admin who acts; without it, the system.")


def membership_of(email: str, tenant_key: str, *, actor: Actor) -> Membership:
    """The person's membership in the tenant, deactivated ones included."""
    with acting_as(actor):
        found = Membership.objects.visible_to(actor).filter(user__in=people_by_username(email)).first()
    if found is None:
        raise CommandError(
            f"{email} is not a member of tenant {tenant_key}. Invite them first: manage.py invite_member."
        )
    return found


def add_reason(parser: CommandParser) -> None:
    """An optional reason, because somebody may have to act quickly."""
    parser.add_argument("--reason", default="", help="The reason; the audit log keeps it.")


def decide_about_member(
    decide: Callable[..., Membership], options: Mapping[str, Any], *, when_deactivated: str
) -> Membership:
    """Apply the decision to the active member from the options, or refuse with a sentence."""
    email, key = options["email"], options["tenant"]
    actor = command_actor(key, options["username"])
    membership = membership_of(email, key, actor=actor)
    if not membership.is_active:
        raise CommandError(f"{email} is deactivated{when_deactivated}")
    try:
        return decide(membership, actor=actor, reason=options["reason"])
    except GovernanceError as refusal:
        raise CommandError(str(refusal)) from refusal
