"""The member that a command's words name."""

from django.core.management.base import CommandError, CommandParser

from apps.governance.acting import acting
from apps.governance.actors import Actor
from apps.tenants.models import Membership


def add_names(parser: CommandParser) -> None:
    """Every command about a member names them, their tenant and whoever decides the same way."""
    parser.add_argument("email", metavar="MAIL", help="The mail address the person signs in by.")
    parser.add_argument("--tenant", required=True, metavar="KEY", help="The tenant's key.")
    parser.add_argument(
        "--as", dest="username", metavar="USERNAME", help="The admin who decides. Without it, the system does."
    )


def membership_of(email: str, tenant_key: str, *, actor: Actor) -> Membership:
    """Where this person belongs to the tenant, deactivated members included."""
    with acting(actor):
        found = Membership.objects.visible_to(actor).filter(user__username=email, user__is_service=False).first()
    if found is None:
        raise CommandError(f"{email} is no member of tenant {tenant_key}. Let them in first: manage.py invite_member.")
    return found
