"""Bytes that nothing came to name: uploads whose act was refused or cut off."""

from datetime import datetime, timedelta
from typing import Final

from django.db import connection

from apps.governance.database.actor_transaction import acting_as
from apps.governance.database.sql_files import load_query
from apps.skills.attachments.blob_store import delete_bytes, keys_stored_before, tenants_with_files
from apps.tenants.authentication.actor_resolution import system_actor
from apps.tenants.models import Tenant

# An upload and its act are seconds apart.
ORPHAN_AGE = timedelta(days=1)
_FIND_REFERENCED_FILES: Final = load_query("apps/skills/attachments/queries/find_referenced_files.sql")


def sweep_files(now: datetime) -> int:
    """Remove bytes older than a day that neither a skill nor its history names; says how many there were."""
    return sum(_sweep_tenant(tenant_id, now - ORPHAN_AGE) for tenant_id in tenants_with_files())


def _sweep_tenant(tenant_id: int, moment: datetime) -> int:
    # The store is asked before the rows: what is named meanwhile is younger than the moment.
    old = list(keys_stored_before(tenant_id, moment))
    named = _referenced_keys(tenant_id) if old else None
    if named is None:
        return 0
    orphans = [key for key in old if key not in named]
    for key in orphans:
        delete_bytes(key)
    return len(orphans)


def _referenced_keys(tenant_id: int) -> frozenset[str] | None:
    """The keys a tenant's rows name; None for a tenant this database does not know, whose files may be another's."""
    system = system_actor(tenant_id)
    with acting_as(system), connection.cursor() as cursor:
        if not Tenant.objects.filter(pk=tenant_id).exists():
            return None
        cursor.execute(_FIND_REFERENCED_FILES, {"tenant": tenant_id})
        return frozenset(key for (key,) in cursor.fetchall())
