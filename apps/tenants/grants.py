"""Guardian's rows: the role templates, kept equal to the policy, and what differs by agent, kept equal to its governed row."""

from collections.abc import Collection

from django.contrib.auth.models import Group, Permission
from django.db import transaction
from django.db.models import Model, QuerySet
from guardian.core import ObjectPermissionChecker

from apps.governance.actors import Role
from apps.governance.policy import Act, codename, default_grants
from apps.tenants.grant_models import (
    AgentGrants,
    AgentGroupObjectPermission,
    AgentUserObjectPermission,
    MemberLimit,
    RoleTemplateGroupObjectPermission,
)
from apps.tenants.models import RoleTemplate, Tenant


def granted(role: Role, on: Model) -> frozenset[str]:
    """What guardian says the role's group holds on a row: a role template, a tenant or an agent. Two look-ups, no request's way."""
    group = Group.objects.filter(name=role.value).first()
    return frozenset(ObjectPermissionChecker(group).get_perms(on)) if group else frozenset()


def template_drift() -> dict[Role, tuple[frozenset[str], frozenset[str]]]:
    """Per role, the grants the templates lack and those they hold beyond the policy; empty when they agree."""
    templates = {Role(template.role): template for template in RoleTemplate.objects.all()}
    held = {role: granted(role, templates[role]) if role in templates else frozenset() for role in Role}
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
            for permission in _of_templates(missing, using):
                grants.assign_perm(permission, group, template)
            for name in surplus:
                grants.remove_perm(name, group, template)
        changed += len(missing) + len(surplus)
    return changed


def usual_grants(role: Role, tenant_id: int) -> frozenset[str]:
    """What a role holds in a tenant wherever nothing is said of the agent."""
    own = granted(role, Tenant.objects.get(pk=tenant_id))
    return (own or default_grants(role)) & default_grants(role)


def keep_agent_grants(grants: AgentGrants) -> None:
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
        for permission in _of_agents(grants.permissions)
    )


def keep_limit(limit: MemberLimit) -> None:
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
        for permission in _of_agents([codename(Act(limit.limited_act))])
        for agent_id in limit.agent_ids
    )


def _of_agents(names: Collection[str]) -> QuerySet[Permission]:
    return Permission.objects.filter(content_type__app_label="tenants", content_type__model="agent", codename__in=names)


def _of_templates(names: Collection[str], using: str) -> QuerySet[Permission]:
    # Guardian looks a name up over the default connection, and no row may refer to one that was read there.
    kind = {"content_type__app_label": "tenants", "content_type__model": "roletemplate"}
    return Permission.objects.using(using).select_related("content_type").filter(codename__in=names, **kind)
