"""django-guardian's rows: role templates are synced with the policy, and other grants with their governed row."""

from collections.abc import Collection
from typing import Any

from django.contrib.auth.models import Group, Permission
from django.db import transaction
from django.db.models import Model, QuerySet
from guardian.core import ObjectPermissionChecker
from guardian.shortcuts import get_groups_with_perms

from apps.governance.actors import Role
from apps.governance.policy.policy_table import Act, codename, default_grants
from apps.tenants.models import RoleTemplate, Tenant
from apps.tenants.models.grants import (
    AgentGrants,
    AgentGroupObjectPermission,
    AgentUserObjectPermission,
    MemberLimit,
    RoleGrants,
    RoleTemplateGroupObjectPermission,
    TenantGroupObjectPermission,
)


def guardian_grants(role: Role, on: Model) -> frozenset[str]:
    """Return the permissions of a role's group on a template, tenant or agent.

    It takes two queries, so requests do not use it.
    """
    group = Group.objects.filter(name=role.value).first()
    return frozenset(ObjectPermissionChecker(group).get_perms(on)) if group else frozenset()


def template_drift() -> dict[Role, tuple[frozenset[str], frozenset[str]]]:
    """Return, for each role that differs from the policy, the grants that its template lacks and those that it has in excess."""
    templates = {Role(template.role): template for template in RoleTemplate.objects.all()}
    held = {role: guardian_grants(role, templates[role]) if role in templates else frozenset() for role in Role}
    return {
        role: (default_grants(role) - held[role], held[role] - default_grants(role))
        for role in Role
        if held[role] != default_grants(role)
    }


def sync_templates(using: str) -> int:
    """Add missing grants to the templates and remove excess ones. Returns how many changed.

    Runs as the owner of the database. Only guardian's functions for single grants use the given connection; its bulk functions
    use the default connection, whose login may not write these rows.
    """
    grants = RoleTemplateGroupObjectPermission.objects.db_manager(using)
    changed = 0
    for role, (missing, surplus) in template_drift().items():
        with transaction.atomic(using=using):
            group, _ = Group.objects.using(using).get_or_create(name=role.value)
            template, _ = RoleTemplate.objects.using(using).get_or_create(role=role.value)
            for permission in _permissions("roletemplate", missing).using(using):
                grants.assign_perm(permission, group, template)
            for name in surplus:
                grants.remove_perm(name, group, template)
        changed += len(missing) + len(surplus)
    return changed


def tenant_wide_grants(role: Role, tenant_id: int) -> frozenset[str]:
    """Return a role's permissions in a tenant. They apply wherever no grants on an agent replace them."""
    own = guardian_grants(role, Tenant.objects.get(pk=tenant_id))
    return (own or default_grants(role)) & default_grants(role)


def grants_of_tenant(tenant: Tenant) -> dict[Role, frozenset[str]]:
    """Return the tenant's own grants by role. A role that is missing uses its template's permissions."""
    found: Any = get_groups_with_perms(tenant, attach_perms=True)  # guardian returns a dict with attach_perms
    return {Role(group.name): frozenset(names) for group, names in found.items() if group.name in set(Role)}


def sync_role_grants(grants: RoleGrants, names: Collection[str]) -> None:
    """Make guardian's rows for the tenant equal to these names, in the same transaction.

    The first write adds hundreds of rows, so it uses a bulk insert.
    """
    group = Group.objects.get(name=grants.role)
    tenant = Tenant.objects.get(pk=grants.tenant_id)
    held, rows = guardian_grants(Role(grants.role), tenant), TenantGroupObjectPermission.objects
    rows.filter(group=group, content_object=tenant, permission__codename__in=held - set(names)).delete()
    rows.bulk_create(
        TenantGroupObjectPermission(group=group, permission=permission, content_object=tenant)
        for permission in _permissions("tenant", set(names) - held)
    )


def sync_agent_grants(grants: AgentGrants) -> None:
    """Make guardian's rows equal to the permissions of the governed row, in the same transaction."""
    AgentGroupObjectPermission.objects.filter(grants=grants).delete()
    group = Group.objects.get(name=grants.role)
    AgentGroupObjectPermission.objects.bulk_create(
        AgentGroupObjectPermission(
            tenant_id=grants.tenant_id,
            group=group,
            permission=permission,
            content_object_id=grants.agent_id,
            grants=grants,
        )
        for permission in _permissions("agent", grants.permissions)
    )


def sync_member_limit(limit: MemberLimit) -> None:
    """Make guardian's rows equal to the agents of the member's limit, in the same transaction."""
    AgentUserObjectPermission.objects.filter(limit=limit).delete()
    AgentUserObjectPermission.objects.bulk_create(
        AgentUserObjectPermission(
            tenant_id=limit.tenant_id,
            user_id=limit.member.user_id,
            permission=permission,
            content_object_id=agent_id,
            limit=limit,
        )
        for permission in _permissions("agent", [codename(Act(limit.limited_act))])
        for agent_id in limit.agent_ids
    )


def _permissions(model: str, names: Collection[str]) -> QuerySet[Permission]:
    # Permission rows, because guardian would look up names over the default connection.
    known = Permission.objects.select_related("content_type")
    return known.filter(content_type__app_label="tenants", content_type__model=model, codename__in=names)
