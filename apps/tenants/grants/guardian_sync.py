"""Guardian's rows: the role templates, kept equal to the policy, and what differs from them, kept equal to its governed row."""

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
    """What guardian says the role's group holds on a row: a role template, a tenant or an agent. Two look-ups, no request's way."""
    group = Group.objects.filter(name=role.value).first()
    return frozenset(ObjectPermissionChecker(group).get_perms(on)) if group else frozenset()


def template_drift() -> dict[Role, tuple[frozenset[str], frozenset[str]]]:
    """Per role, the grants the templates lack and those they hold beyond the policy; empty when they agree."""
    templates = {Role(template.role): template for template in RoleTemplate.objects.all()}
    held = {role: guardian_grants(role, templates[role]) if role in templates else frozenset() for role in Role}
    return {
        role: (default_grants(role) - held[role], held[role] - default_grants(role))
        for role in Role
        if held[role] != default_grants(role)
    }


def sync_templates(using: str) -> int:
    """Let guardian assign what the templates lack and remove what is too much; returns how many grants changed.

    Runs as the database's owner. Of guardian's ways to write only these two, one grant at a time, go over the connection they
    are asked on; its bulk forms write over the default one, whose login may not.
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
    """What a role holds in a tenant wherever nothing is said of the agent."""
    own = guardian_grants(role, Tenant.objects.get(pk=tenant_id))
    return (own or default_grants(role)) & default_grants(role)


def grants_of_tenant(tenant: Tenant) -> dict[Role, frozenset[str]]:
    """The roles that hold grants of the tenant's own, each with those. Whoever is not among them holds the template."""
    found: Any = get_groups_with_perms(tenant, attach_perms=True)  # guardian says Group or dict; attached, it is a dict
    return {Role(group.name): frozenset(names) for group, names in found.items() if group.name in set(Role)}


def sync_role_grants(grants: RoleGrants, names: Collection[str]) -> None:
    """Let guardian's rows of the tenant be these, in the same transaction. A first row names hundreds: they go in at once."""
    group = Group.objects.get(name=grants.role)
    tenant = Tenant.objects.get(pk=grants.tenant_id)
    held, rows = guardian_grants(Role(grants.role), tenant), TenantGroupObjectPermission.objects
    rows.filter(group=group, content_object=tenant, permission__codename__in=held - set(names)).delete()
    rows.bulk_create(
        TenantGroupObjectPermission(group=group, permission=permission, content_object=tenant)
        for permission in _permissions("tenant", set(names) - held)
    )


def sync_agent_grants(grants: AgentGrants) -> None:
    """Let guardian's rows be what the governed row says, in the same transaction."""
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
    """The same for the agents a member is limited to."""
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
    # Rows for guardian, which looks a name up over the default connection whatever it is asked on.
    known = Permission.objects.select_related("content_type")
    return known.filter(content_type__app_label="tenants", content_type__model=model, codename__in=names)
