"""Finds grants that exceed the policy. They have no effect, because the check of an act requires the policy too."""

from collections.abc import Iterator
from typing import Final

from django.db import connections
from guardian.models import GroupObjectPermissionBase

from apps.governance.actors import Role
from apps.governance.database.actor_transaction import acting_as
from apps.governance.policy.policy_table import default_grants
from apps.tenants.authentication.actor_resolution import system_actor
from apps.tenants.models.grants import RoleTemplateGroupObjectPermission

# No role may list tenants, so this module counts through the ids, and row security shows the rows of one tenant at a time.
_LAST_TENANT_ID: Final = "SELECT coalesce(last_value, 0) FROM pg_sequences WHERE sequencename = 'tenants_tenant_id_seq'"


def grants_beyond_floor() -> list[str]:
    """Return a sentence for each grant, in a tenant or on an agent, that its role could never use."""
    with connections["default"].cursor() as cursor:
        cursor.execute(_LAST_TENANT_ID)
        [last] = cursor.fetchone()
    with acting_as(system_actor(0)):
        return [line for tenant_id in range(1, int(last) + 1) for line in _excess_of_tenant(tenant_id)]


def _excess_of_tenant(tenant_id: int) -> Iterator[str]:
    with connections["default"].cursor() as cursor:
        cursor.execute("SELECT set_config('app.tenant', %s, true)", [str(tenant_id)])
    for table in _grant_models():
        held = table._default_manager.values_list("content_object_id", "group__name", "permission__codename")
        for row_id, group, name in held.order_by("pk"):
            if name not in _role_floor(group):
                yield (
                    f"grants of tenant {tenant_id}: {group} holds {name} on {table.__name__} {row_id}, beyond the policy."
                )


def _grant_models() -> list[type[GroupObjectPermissionBase]]:
    # Templates belong to no tenant; they are compared with the policy separately.
    every = GroupObjectPermissionBase.__subclasses__()
    return [table for table in every if not table._meta.abstract and table is not RoleTemplateGroupObjectPermission]


def _role_floor(group: str) -> frozenset[str]:
    return default_grants(Role(group)) if group in set(Role) else frozenset()
