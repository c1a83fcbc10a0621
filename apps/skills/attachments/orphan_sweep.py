"""The sweep of orphaned attachment bytes: uploads whose act was refused or interrupted."""

from datetime import datetime, timedelta
from typing import Final

from django.db import connection

from apps.governance.database.actor_transaction import acting_as
from apps.governance.database.sql_files import load_query
from apps.skills.attachments.blob_store import delete_bytes, keys_stored_before, tenants_with_files
from apps.tenants.authentication.actor_resolution import system_actor
from apps.tenants.models import Tenant

# Far longer than needed: an upload is attached within seconds after its bytes are stored.
ORPHAN_AGE = timedelta(days=1)
_FIND_REFERENCED_FILES: Final = load_query("apps/skills/attachments/queries/find_referenced_files.sql")


def sweep_files(now: datetime) -> int:
    """Delete files older than `ORPHAN_AGE` that neither a skill nor its history refers to, and return their number."""
    return sum(_sweep_tenant(tenant_id, now - ORPHAN_AGE) for tenant_id in tenants_with_files())


def _sweep_tenant(tenant_id: int, moment: datetime) -> int:
    # List the store before reading the rows. A file that a row starts to refer to in between is younger than `moment`.
    old = list(keys_stored_before(tenant_id, moment))
    named = _referenced_keys(tenant_id) if old else None
    if named is None:
        return 0
    orphans = [key for key in old if key not in named]
    for key in orphans:
        delete_bytes(key)
    return len(orphans)


def _referenced_keys(tenant_id: int) -> frozenset[str] | None:
    """Return the keys that a tenant's rows refer to, or None for an unknown tenant.

    The files of an unknown tenant may belong to another installation.
    """
    system = system_actor(tenant_id)
    with acting_as(system), connection.cursor() as cursor:
        if not Tenant.objects.filter(pk=tenant_id).exists():
            return None
        cursor.execute(_FIND_REFERENCED_FILES, {"tenant": tenant_id})
        return frozenset(key for (key,) in cursor.fetchall())
