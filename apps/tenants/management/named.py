"""Which tenants a command is for: one by its key, or all of them, whom only the database's owner can list."""

from collections.abc import Iterator

from django.conf import settings
from django.core.management.base import CommandError
from django.db import connections, transaction

from apps.governance.database.migration_operations import role_name
from apps.tenants.identity import tenant_named

ALL = "all"


def tenants_named(key: str) -> Iterator[tuple[str, int]]:
    """Each with its key and its number."""
    if key != ALL:
        actor = tenant_named(key)
        if actor is None:
            raise CommandError(f"There is no tenant “{key}”.")
        yield key, actor.tenant_id
        return
    if "owner" not in settings.DATABASES:
        raise CommandError("Set DATABASE_OWNER_URL, or run it through `make manage`, or name one tenant by --tenant.")
    with transaction.atomic(using="owner"), connections["owner"].cursor() as cursor:
        cursor.execute("SELECT set_config('role', %s, true)", [role_name("cross_tenant")])
        cursor.execute("SELECT key, id FROM tenants_tenant ORDER BY id")
        found = cursor.fetchall()
    yield from found
