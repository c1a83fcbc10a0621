"""Shared arguments of management commands: the tenant (one key or all), the acting member, and the agent.

A name that does not exist is refused with a sentence. Only the database's owner can list all tenants.
"""

from collections.abc import Iterator

from django.conf import settings
from django.core.management.base import CommandError, CommandParser
from django.db import connections, transaction

from apps.governance.actors import Actor
from apps.governance.database.actor_transaction import acting_as
from apps.governance.database.migration_operations import role_name
from apps.tenants.authentication.actor_resolution import member_by_username, system_actor_of_tenant
from apps.tenants.models import Agent


def add_agent_arguments(parser: CommandParser) -> None:
    """Arguments for the tenant and the agent, the same in every command about an agent."""
    parser.add_argument("--tenant", required=True, metavar="KEY", help="The tenant's key.")
    parser.add_argument("--agent", required=True, metavar="KEY", help="The key of one of its agents.")


def add_importer_argument(parser: CommandParser) -> None:
    """The argument for the importing member, the same in every import command."""
    parser.add_argument(
        "--as", dest="username", metavar="USERNAME", help="The member who imports; without it, the system."
    )


def command_actor(tenant_key: str, username: str | None = None) -> Actor:
    """The member that a command acts as; without a username the system, which cannot approve."""
    system = system_actor_of_tenant(tenant_key)
    if system is None:
        raise CommandError(f"There is no tenant “{tenant_key}”. Create it with: manage.py create_tenant {tenant_key}")
    if not username:
        return system
    member = member_by_username(username, system.tenant_id)
    if member is None:
        raise CommandError(f"“{username}” is not an active member of tenant {tenant_key}.")
    return member


def get_agent(key: str, *, actor: Actor) -> Agent:
    """Return one of the tenant's agents."""
    with acting_as(actor):
        agents = {agent.key: agent for agent in Agent.objects.visible_to(actor)}
    if key not in agents:
        raise CommandError(
            f"The tenant has no agent “{key}”. Its agents: {', '.join(agents) or 'none yet; create some with seed_personas'}."
        )
    return agents[key]


ALL_TENANTS = "all"


def select_tenants(key: str) -> Iterator[tuple[str, int]]:
    """The key and id of the chosen tenants."""
    if key != ALL_TENANTS:
        actor = system_actor_of_tenant(key)
        if actor is None:
            raise CommandError(f"There is no tenant “{key}”.")
        yield key, actor.tenant_id
        return
    if "owner" not in settings.DATABASES:
        raise CommandError(
            "Set DATABASE_OWNER_URL, run the command through `make manage`, or name one tenant with --tenant."
        )
    with transaction.atomic(using="owner"), connections["owner"].cursor() as cursor:
        cursor.execute("SELECT set_config('role', %s, true)", [role_name("cross_tenant")])
        cursor.execute("SELECT key, id FROM tenants_tenant ORDER BY id")
        found = cursor.fetchall()
    yield from found
